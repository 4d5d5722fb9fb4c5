
# The daemon: idle groups are reclaimed within their bounds, the pool is drained to its target by the kernel's own write-back, no canary
# reaches the disk, zram writes idle pages back within a budget, no page is lost, and every setting is as before when it ends, also when it is
# killed in a burst or while zram writes.
set_up
for name in one two three busy guarded never; do hold $name; done
echo 100M > $APPS/guarded/memory.low
# A group that runs is not idle, whatever it holds.
(
	echo 0 > $APPS/busy/cgroup.procs
	exec sh -c 'while :; do :; done'
) &
runner=$!

echo "=== idle groups"
cat > /run/reclaim.toml << END
[keep]
limit = false
pacing = false
never = ["never"]
reclaim_idle_s = 5
reclaim_pause_s = 1
reclaim_probe_percent = 30
reclaim_floor = "6M"
# Under emulation the groups' own start is a stall that lasts.
reclaim_stall_us = 100000
END
settings > /run/before
swaptune daemon --dry-run --once --config /run/reclaim.toml || fail "a dry run"
settings > /run/after
expect_same "settings after a dry run" /run/before /run/after
expect_status 1 swaptune daemon status
start /run/reclaim.toml
is_small() { [ "$(memory one)" -le 19 ] && [ "$(memory two)" -le 19 ] && [ "$(memory three)" -le 19 ]; }
until_true "idle groups have given memory" 120 is_small
quiet_status 0 swaptune daemon status --json
expect_line "it tells what it took" '"probes": [1-9]' /run/last-output
expect_status 0 swaptune daemon status
for name in busy guarded never; do
	if [ "$(memory $name)" -ge $MIB ]; then ok "$name has all of its memory"; else fail "$name has $(memory $name) MiB"; fi
done
for name in one two three; do
	if [ "$(plain $name)" -ge 6 ]; then ok "$name is above its floor"; else fail "$name has $(plain $name) MiB"; fi
done
expect "pages on the disk" 0 "$(counter /proc/vmstat pswpout)"
kill $runner
wait $runner 2> /dev/null
stop_daemon

echo "=== the pool"
for name in one two three busy never; do
	for _ in 1 2 3 4; do echo 6M 2> /dev/null > $APPS/$name/memory.reclaim; done
done
pool=$(meminfo Zswap)
ram=$(meminfo MemTotal)
# A limit of which the pool takes between 80 and 90 %.
limit=$((pool * 10000 / (ram * 86) + 1))
echo $limit > $ZSWAP/max_pool_percent
target=$((ram * limit / 100 * 60 / 100))
echo "    pool $pool kB, limit $limit %, target $target kB"
cat > /run/pacing.toml << END
[keep]
limit = false
reclaim = false
pacing_start_percent = 70
pacing_target_percent = 60
pacing_burst_ms = 2000
END
settings > /run/before
out=$(counter /proc/vmstat pswpout)
back=$(counter /proc/vmstat zswpwb)
start /run/pacing.toml
is_drained() { [ "$(meminfo Zswap)" -le $target ]; }
until_true "the pool is at its target" 120 is_drained
# What it asked for last may still be written: both counters are of one moment only when nothing is.
is_settled() {
	was=$(counter /proc/vmstat zswpwb)
	sleep 1
	[ "$was" = "$(counter /proc/vmstat zswpwb)" ]
}
until_true "nothing is written any more" 60 is_settled
out=$(($(counter /proc/vmstat pswpout) - out))
back=$(($(counter /proc/vmstat zswpwb) - back))
expect "pages written that zswap did not write back" 0 $((out - back))
if [ $back -gt 0 ]; then ok "zswap wrote back $back pages"; else fail "zswap wrote back nothing"; fi
expect_status 0 swaptune daemon status
# A command that changes the machine has it for itself.
expect_status 0 swaptune apply --now --yes --set vm.swappiness=77
expect_status 0 swaptune rollback --yes
expect_status 0 swaptune daemon pause
expect_status 0 swaptune daemon resume
stop_daemon
for name in one two three busy guarded never; do verify $name; done

echo "=== killed in a burst"
for name in one two three busy never; do
	for _ in 1 2 3 4; do echo 6M 2> /dev/null > $APPS/$name/memory.reclaim; done
done
cat > /run/long.toml << END
[keep]
limit = false
reclaim = false
pacing_start_percent = 20
pacing_target_percent = 5
pacing_burst_ms = 10000
pacing_chunk = "1G"
END
settings > /run/before
is_restored() {
	settings > /run/after
	cmp -s /run/before /run/after
}
# in_a_burst SIGNAL: the daemon gets it as soon as a burst has begun, and never comes to the end of it
in_a_burst() {
	start /run/long.toml
	tries=3000
	while [ "$(cat $ZSWAP/max_pool_percent)" = $limit ] && [ $tries -gt 0 ]; do tries=$((tries - 1)); done
	kill "-$1" $daemon
	echo "    $1 with the limit at $(cat $ZSWAP/max_pool_percent) %"
	if [ $tries -gt 0 ]; then ok "it was in a burst"; else fail "no burst began"; fi
	until_true "all is put back after $1" 120 is_restored
	expect_same "settings after $1" /run/before /run/after
	# Where it is still there, a check has failed.
	kill -9 $daemon 2> /dev/null
	wait $daemon 2> /dev/null
	expect "processes of the canaries" 0 "$(ps | grep -c '[k]eep_canary')"
}
in_a_burst KILL

echo "=== stopped in a burst"
# Its guardian gives it half a minute, then kills it.
for name in one two three busy never; do
	for _ in 1 2 3 4; do echo 6M 2> /dev/null > $APPS/$name/memory.reclaim; done
done
in_a_burst STOP
expect_line "the guardian says why" "did not end in time what it had begun" /run/daemon-said
for name in one two three busy guarded never; do verify $name; done

echo "=== zram"
ZRAM=/sys/block/zram0
expect_status 0 swaptune daemon --dry-run --once
expect_line "it says why it does nothing" "no zram device is swap" /run/last-output
# New groups without zswap in front, so that their pages reach the device.
for name in one two three busy guarded; do end_service $name; done
echo N > $ZSWAP/enabled
echo 0 > /sys/block/vdb/queue/rotational
cat > /run/zram-wanted.toml << END
profile = "none"
[[zram]]
size = "192M"
algorithm = ["lz4"]
recomp_algorithm = ["zstd"]
backing_dev = "/dev/vdb"
END
# What stands on a device without a signature may be data.
dd if=/dev/urandom of=/dev/vdb bs=4096 seek=200 count=1 conv=notrunc 2> /dev/null
expect_status 3 swaptune apply --now --yes --config /run/zram-wanted.toml
expect_line "a device with data is refused" "data without a known signature" /run/last-output
dd if=/dev/zero of=/dev/vdb bs=4096 seek=200 count=1 conv=notrunc 2> /dev/null
expect_status 0 swaptune apply --now --yes --config /run/zram-wanted.toml
expect_status 0 swaptune apply --now --yes --config /run/zram-wanted.toml
expect_line "there is nothing left to do" "Nothing to do" /run/last-output
expect_line "it says what this kernel lacks" "zram.recomp_algorithm: left out" /run/last-output
expect "backing device" /dev/vdb "$(cat $ZRAM/backing_dev)"
expect_status 0 swaptune verify
echo 5 > $ZRAM/writeback_limit
zram_limits() { echo "$(cat $ZRAM/writeback_limit) $(cat $ZRAM/writeback_limit_enable)"; }
zram_written() { awk '{ print $3 }' $ZRAM/bd_stat; }
zram_used() { awk '{ print $3 }' $ZRAM/mm_stat; }
fill() {
	for name in five six; do
		for _ in 1 2 3 4; do echo 6M 2> /dev/null > $APPS/$name/memory.reclaim; done
	done
	echo "    zram takes $(zram_used) bytes, pages $(cat $ZRAM/mm_stat)"
}
hold five
hold six
fill
cat > /run/zram.toml << END
[keep]
limit = false
pacing = false
reclaim = false
zram_idle_s = 5
zram_every_s = 2
zram_floor = "0"
zram_chunk = "1M"
zram_budget = "8M"
# Under emulation all waits are long.
zram_stall_us = 900000
zram_io_stall_us = 900000
zram_pages = 100000
zram_hold_ms = 100
END
settings > /run/before
used=$(zram_used)
start /run/zram.toml
# No part begins with less than 64 KiB of the budget left.
is_written() { [ "$(zram_written)" -gt 2032 ]; }
until_true "idle pages are written back" 120 is_written
# Three more rounds, with pages left and the budget spent.
sleep 8
if is_written && [ "$(zram_written)" -le 2048 ]; then ok "$(zram_written) pages written, of a budget of 8 MiB"; else fail "$(zram_written) pages written, of a budget of 8 MiB"; fi
if [ "$(zram_used)" -lt "$used" ]; then ok "zram takes less RAM"; else fail "zram took $used bytes, and takes $(zram_used)"; fi
quiet_status 0 swaptune daemon status --json
expect_line "it tells what was written" "\"zram_written\": $(($(zram_written) * 4096))" /run/last-output
expect_line "pages were marked by age" "marked what is idle in zram0" /run/last-output
expect_line "it says why it writes no more" '"zram": "zram0: 8 MiB were written in 24 hours' /run/last-output
expect_status 0 swaptune daemon status
stop_daemon
expect "limit of write-back" "5 0" "$(zram_limits)"
for name in five six; do verify $name; done

echo "=== killed while zram writes"
fill
sed -i 's/^zram_chunk.*/zram_chunk = "64M"/; s/^zram_budget.*/zram_budget = "1G"/' /run/zram.toml
settings > /run/before
start /run/zram.toml
tries=20000
while [ "$(cat $ZRAM/writeback_limit_enable)" = 0 ] && [ $tries -gt 0 ]; do tries=$((tries - 1)); done
kill -9 $daemon
echo "    killed with the limit at $(zram_limits)"
if [ $tries -gt 0 ]; then ok "it was writing"; else fail "nothing was written"; fi
wait $daemon 2> /dev/null
has_limits_back() { [ "$(zram_limits)" = "5 0" ]; }
until_true "the limit of write-back is put back after a kill" 60 has_limits_back
is_restored
expect_same "settings after a kill" /run/before /run/after
for name in five six; do verify $name; done

echo "=== taken back"
for name in five six; do end_service $name; done
expect_status 0 swaptune rollback --yes
expect "swap" "/dev/vda " "$(awk 'NR > 1 { printf "%s ", $1 }' /proc/swaps)"
if [ -e $ZRAM ] || [ -e /sys/module/zram ]; then fail "zram is still there"; else ok "zram is gone, with its module"; fi
finish
