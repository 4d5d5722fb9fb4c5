
# After a rollback while the image did not run: it boots as if nothing had been done to it.
STORE=/var/lib/guest-test
expect "system" running "$(systemctl is-system-running --wait)"
file_state > /run/files
expect_same "files" $STORE/files /run/files
expect "zswap" N "$(cat $ZSWAP/enabled)"
grep -q zswap /proc/cmdline && fail "zswap is on the command line: $(cat /proc/cmdline)"
finish
