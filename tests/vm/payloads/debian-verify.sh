
# Second boot: everything is in effect, the service turns it off and on, then it is taken back; where it came as a package, by that going,
# and without the disk that was prepared.
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
	expect "failed units" "" "$(systemctl --no-pager --no-legend --failed)"
	expect "ordering cycles" "" "$(journalctl --no-pager -b | grep -i 'ordering cycle')"
}

healthy
expect "service" "active success" "$(echo $(systemctl show --value -p ActiveState -p Result swaptune | sort))"
expect_line "the kernel was given our words" " quiet $(cat $STORE/words)\( \|\$\)" /proc/cmdline
dmesg > /run/dmesg
expect_line "it took them" "zswap: loaded using pool lzo-rle/zsmalloc" /run/dmesg
expect "words that it could not take" 0 "$(grep -ci 'zswap: .*not available' /run/dmesg)"
in_effect
expect_status 0 swaptune verify --prove
expect_line "pages went through zswap" "as planned: .*zswap" /run/last-output
if [ -f swaptune-1.deb ]; then
	expect "disk" gone "$([ -b /dev/vdc ] && echo there || echo gone)"
	expect_line "what is missing is worth knowing" "fstab-optional-missing" /run/last-output
	expect "login" active "$(systemctl is-active serial-getty@ttyS0.service)"
	area=$(sed -n 's/^UUID=\([^ ]*\) none swap sw,pri=100,.*/\1/p' /etc/fstab)
	device=$(systemd-escape -p --suffix device "/dev/disk/by-uuid/$area")
	expect "wait for $area" 10s "$(systemctl show --value -p JobRunningTimeoutUSec "$device")"
fi
expect_status 0 swaptune status
expect_line "status says that it is on" "zswap: on, zstd" /run/last-output
expect_status 0 swaptune apply --yes
expect_line "nothing is left to do" "nothing" /run/last-output
expect_status 0 systemctl stop swaptune
expect "zswap after stop" N "$(cat $ZSWAP/enabled)"
expect_status 0 systemctl start swaptune
in_effect
expect_status 0 swaptune verify
if [ -f swaptune-1.deb ]; then
	purge_package '^/sys/block/vdc/'
	expect_line "the disk held nothing up" "vdc is not there: what was made on it stays" /run/purged
	finish
fi
expect_status 0 swaptune rollback --yes
expect_status 0 swaptune history
expect "transactions that are taken back" 1 "$(grep -c ' rolled back .* idle-guide ' /run/last-output)"
sync
file_state > /run/files
expect_same "files after rollback" $STORE/files /run/files
live_state > /run/live
expect_same "live state after rollback" $STORE/live /run/live
finish
