
# First boot of the circle: keep a picture of everything, then apply for now and for every boot.
STORE=/var/lib/guest-test
mkdir -p $STORE /etc/swaptune
install -m 755 swaptune /usr/local/bin/swaptune
cp config.toml /etc/swaptune/config.toml
# Under emulation the real one takes minutes; what it would be given is kept instead.
[ -f $STORE/update-initramfs ] || cp /usr/sbin/update-initramfs $STORE/update-initramfs
cat > /usr/sbin/update-initramfs << 'STUB'
#!/bin/sh
echo "$*" >> /var/lib/guest-test/initramfs-calls
cp -a /etc/initramfs-tools /var/lib/guest-test/initramfs-inputs
STUB
systemctl is-system-running --wait
# An area that fstab calls by its partition, with a priority of its own, and a drop-in that GRUB reads last and that sets the variable anew.
PARTITION=PARTUUID=5eaf00d0-0000-4000-8000-000000000010
sed -i "s|^UUID=5eaf00d0-0000-4000-8000-000000000003 .*|$PARTITION none swap sw,pri=7 0 0|" /etc/fstab
expect_line "area by its partition" "^$PARTITION none swap sw,pri=7" /etc/fstab
swapoff /dev/vda3 && swapon -p 7 /dev/vda3
mkdir -p /etc/default/grub.d
echo 'GRUB_CMDLINE_LINUX_DEFAULT="quiet"' > /etc/default/grub.d/zz-last.cfg
sync
file_state > $STORE/files
live_state > $STORE/live
quiet_status 0 swaptune inspect
expect_status 0 swaptune plan
file_state > /run/files
expect_same "files after plan" $STORE/files /run/files
expect_status 0 swaptune apply --yes
expect_line "old line of fstab" "^UUID=.* / ext4" /etc/fstab
cat /etc/fstab
expect "lines by partition" 0 "$(grep -c PARTUUID /etc/fstab)"
expect "areas in fstab" 3 "$(grep -c ' swap .*pri=10' /etc/fstab)"
expect_line "words in the drop-in that is read last" "quiet zswap.enabled=1" /etc/default/grub.d/zz-last.cfg
expect_line "words in what GRUB reads" "linux.*zswap.enabled=1" /boot/grub/grub.cfg
grep -r zswap /etc/default/grub /etc/default/grub.d
cat $STORE/initramfs-calls
expect_status 0 swaptune history
finish
