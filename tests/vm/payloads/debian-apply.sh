
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
grep -r zswap /etc/default/grub /etc/default/grub.d
cat $STORE/initramfs-calls
expect_status 0 swaptune history
finish
