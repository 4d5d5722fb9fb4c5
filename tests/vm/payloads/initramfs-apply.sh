
# First boot: applied, dracut or initramfs-tools with MODULES=dep making the initramfs, with zswap's words on the command line and its compressor in the initramfs.
STORE=/var/lib/guest-test
mkdir -p $STORE
systemctl is-system-running --wait
install -m 755 swaptune /usr/local/bin/swaptune
mkdir -p /etc/swaptune
cp config.toml /etc/swaptune/config.toml
if [ -e /etc/initramfs-tools/initramfs.conf ]; then
	sed -i 's/^MODULES=.*/MODULES=dep/' /etc/initramfs-tools/initramfs.conf
	expect_status 0 update-initramfs -u
fi
modules() { "$(command -v lsinitramfs || command -v lsinitrd)" "/boot/initrd.img-$(uname -r)" | grep -o '[^/ ]*zstd[^/ ]*\.ko' | sort -u | xargs; }
# The time is written into what is made: the initramfs is looked at, not compared.
file_state | grep -v '/boot/initrd.img' > $STORE/files
live_state > $STORE/live
modules > $STORE/modules
expect_status 0 swaptune apply --yes
expect_line "it was made anew" "done: initramfs: run \(dracut --force --kver\|update-initramfs -u -k\) $(uname -r)" /run/last-output
cat /etc/dracut.conf.d/50-swaptune.conf /etc/initramfs-tools/hooks/swaptune 2> /dev/null > /run/told
expect_line "what its maker is told" "add_drivers+=\" .*zstd\|manual_add_modules .*zstd" /run/told
echo "    in the initramfs: before: $(cat $STORE/modules); now: $(modules)"
case " $(modules) " in *" zstd.ko "*) ok "the compressor is in the initramfs" ;; *) fail "no zstd.ko in the initramfs: $(modules)" ;; esac
ls -l /boot
expect_status 0 swaptune plan
expect_line "nothing is left to do" "^Nothing to do" /run/last-output
finish
