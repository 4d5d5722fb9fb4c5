
# First boot of the circle: keep a picture of everything, then apply for now and for every boot.
STORE=/var/lib/guest-test
mkdir -p $STORE
# Under emulation the real one takes minutes; what it is called with is kept instead.
[ -f $STORE/update-initramfs ] || cp /usr/sbin/update-initramfs $STORE/update-initramfs
cat > /usr/sbin/update-initramfs << 'STUB'
#!/bin/sh
echo "$*" >> /var/lib/guest-test/initramfs-calls
STUB
systemctl is-system-running --wait
# An area that fstab calls by its partition, with a priority of its own, and a drop-in that GRUB reads last and that sets the variable anew.
PARTITION=PARTUUID=5eaf00d0-0000-4000-8000-000000000010
sed -i "s|^UUID=5eaf00d0-0000-4000-8000-000000000003 .*|$PARTITION none swap sw,pri=7 0 0|" /etc/fstab
expect_line "area by its partition" "^$PARTITION none swap sw,pri=7" /etc/fstab
swapoff /dev/vda3 && swapon -p 7 /dev/vda3
if [ -d /boot/grub ]; then
	mkdir -p /etc/default/grub.d
	echo 'GRUB_CMDLINE_LINUX_DEFAULT="quiet"' > /etc/default/grub.d/zz-last.cfg
	cp /etc/default/grub /run/grub
fi
sync
cp /etc/fstab /run/fstab
picture() {
	file_state > $STORE/files
	live_state > $STORE/live
}
configure() {
	mkdir -p /etc/swaptune
	cp config.toml /etc/swaptune/config.toml
}
# Purging the package takes the configuration along, so that the picture is without it; a rollback leaves it.
if [ -f swaptune-1.deb ]; then
	picture
	expect_status 0 env DEBIAN_FRONTEND=noninteractive dpkg --install swaptune-1.deb
	configure
else
	install -m 755 swaptune /usr/local/bin/swaptune
	configure
	picture
fi
file_state > /run/files-installed
quiet_status 0 swaptune inspect
expect_status 0 swaptune plan
file_state > /run/files
expect_same "files after plan" /run/files-installed /run/files
expect_status 0 swaptune apply --yes

# fstab: every other line as it was; one line for each area, by its UUID, in the place of the one by partition too.
grep -v ' swap ' /run/fstab > /run/fstab-wanted
grep -v ' swap ' /etc/fstab > /run/fstab-others
expect_file "other lines of fstab" /run/fstab-wanted /run/fstab-others
expect "lines by partition" 0 "$(grep -c PARTUUID /etc/fstab)"
expect "swap lines" 3 "$(grep -c ' swap ' /etc/fstab)"
third=$(sed -n 's/^path = "\(.*\)"$/\1/p' config.toml | tail -n 1)
for area in /dev/vda3 /dev/vda4 "$third"; do
	expect_line "line of $area" "^UUID=$(blkid -p -s UUID -o value "$area") none swap sw,pri=10,nofail 0 0\$" /etc/fstab
done

words="zswap.enabled=1"
[ -f $ZSWAP/zpool ] && words="$words zswap.zpool=zsmalloc"
words="$words zswap.compressor=lzo-rle zswap.max_pool_percent=30 zswap.accept_threshold_percent=90"
[ -f $ZSWAP/shrinker_enabled ] && words="$words zswap.shrinker_enabled=1"
echo "$words" > $STORE/words
# GRUB: the words in a file of our own and in the drop-in that is read after it, of which the generated one has them; the
# administrator's main file is not touched.
words_of_grub() {
	expect "variable of GRUB" "GRUB_CMDLINE_LINUX_DEFAULT=\"\$GRUB_CMDLINE_LINUX_DEFAULT $words\"" \
		"$(grep -v '^#' /etc/default/grub.d/99-swaptune.cfg)"
	expect_line "words in the drop-in that is read last" "^GRUB_CMDLINE_LINUX_DEFAULT=\"quiet $words\"" /etc/default/grub.d/zz-last.cfg
	expect_file "defaults of GRUB" /run/grub /etc/default/grub
	expect_line "entry of GRUB" "^[[:space:]]*linux[[:space:]]*/boot/vmlinuz-$(uname -r) root=.* quiet $words\$" /boot/grub/grub.cfg
	expect "recovery entries with our words" 0 "$(grep -c 'single.*zswap' /boot/grub/grub.cfg)"
}
# systemd-boot: what kernel-install goes by, and the entry that it wrote.
words_of_entry() {
	expect_line "command line of later kernels" " quiet $words\$" /etc/kernel/cmdline
	expect_line "entry of systemd-boot" "^options .* quiet $words\( \|\$\)" "/efi/loader/entries/$(cat /etc/machine-id)-$(uname -r).conf"
}
if [ -d /boot/grub ]; then words_of_grub; else words_of_entry; fi

# The configuration asks for nothing in the initramfs, so it is not made anew.
expect "calls of update-initramfs" "" "$(cat $STORE/initramfs-calls 2> /dev/null)"
expect "hook of initramfs-tools" "" "$(ls /etc/initramfs-tools/hooks)"

# The rest that makes it last.
expect_line "sysctl file" "^vm.swappiness = 85\$" /etc/sysctl.d/99-zz-swaptune.conf
expect "link of the service" /etc/systemd/system/swaptune.service \
	"$(readlink /etc/systemd/system/swap.target.wants/swaptune.service)"
expect_status 0 swaptune history
expect "transactions" 1 "$(grep -c ' applied .* idle-guide ' /run/last-output)"

# From the package: a further disk, that may be pulled out.
if [ -f swaptune-1.deb ]; then
	expect_status 0 swaptune device prepare /dev/vdc --encrypt none --optional --priority 100 --yes
	expect "areas" "10 10 10 100" "$(awk 'NR > 1 { print $5 }' /proc/swaps | sort | xargs)"
	udevadm settle
	expect_status 0 swaptune plan
	expect_line "nothing is left to do" "^Nothing to do" /run/last-output
fi
finish
