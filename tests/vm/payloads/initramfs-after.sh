
# Third boot: the machine starts with what was made last, as if nothing had been done to it.
STORE=/var/lib/guest-test
expect "system" running "$(systemctl is-system-running --wait)"
file_state | grep -v '/boot/initrd.img' > /run/files
expect_same "files" $STORE/files /run/files
live_state > /run/live
expect_same "live state" $STORE/live /run/live
finish
