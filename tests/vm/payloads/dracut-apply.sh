
# First boot of a machine whose initramfs dracut makes: applied with zswap's words on the command line and its compressor in the initramfs.
STORE=/var/lib/guest-test
mkdir -p $STORE
systemctl is-system-running --wait
install -m 755 swaptune /usr/local/bin/swaptune
mkdir -p /etc/swaptune
cp config.toml /etc/swaptune/config.toml
modules() { lsinitrd "/boot/initrd.img-$(uname -r)" | grep -o '[^/ ]*zstd[^/ ]*\.ko' | sort -u | xargs; }
# dracut writes the time into what it makes: the initramfs is looked at, not compared.
file_state | grep -v '/boot/initrd.img' > $STORE/files
live_state > $STORE/live
modules > $STORE/modules
expect_status 0 swaptune apply --yes
expect_line "dracut made it anew" "done: initramfs: run dracut --force --kver $(uname -r)" /run/last-output
expect_line "what dracut is told" 'add_drivers+=" .*zstd' /etc/dracut.conf.d/50-swaptune.conf
echo "    in the initramfs: before: $(cat $STORE/modules); now: $(modules)"
case " $(modules) " in *" zstd.ko "*) ok "the compressor is in the initramfs" ;; *) fail "no zstd.ko in the initramfs: $(modules)" ;; esac
ls -l /boot
expect_status 0 swaptune plan
expect_line "nothing is left to do" "^Nothing to do" /run/last-output
finish
