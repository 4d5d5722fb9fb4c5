
# Second boot: everything is in effect, the service turns it off and on, then it is taken back.
STORE=/var/lib/guest-test

# in_effect: read from the kernel, without swaptune's help
in_effect() {
	expect "zswap" Y "$(cat $ZSWAP/enabled)"
	expect "compressor" zstd "$(cat $ZSWAP/compressor)"
	expect "pool limit" 30 "$(cat $ZSWAP/max_pool_percent)"
	expect "areas with priority 10" 3 "$(awk 'NR > 1 && $5 == 10' /proc/swaps | wc -l)"
	expect "swappiness" 85 "$(cat /proc/sys/vm/swappiness)"
	expect "huge pages" madvise "$(sed 's/.*\[\(.*\)\].*/\1/' /sys/kernel/mm/transparent_hugepage/enabled)"
}

healthy() {
	expect "system" running "$(systemctl is-system-running --wait)"
	systemctl --no-pager --no-legend --failed
	journalctl --no-pager -b | grep -i 'ordering cycle' && fail "an ordering cycle"
}

healthy
journalctl --no-pager -b -u swaptune
dmesg | grep -i zswap
expect_line "words on the command line" "zswap.enabled=1 " /proc/cmdline
in_effect
expect_status 0 swaptune verify --prove
expect_status 0 swaptune status
expect_status 0 swaptune apply --yes
expect_line "nothing is left to do" "nothing" /run/last-output
expect_status 0 systemctl stop swaptune
expect "zswap after stop" N "$(cat $ZSWAP/enabled)"
expect_status 0 systemctl start swaptune
in_effect
expect_status 0 swaptune verify
expect_status 0 swaptune rollback --yes
sync
file_state > /run/files
expect_same "files after rollback" $STORE/files /run/files
live_state > /run/live
expect_same "live state after rollback" $STORE/live /run/live
finish
