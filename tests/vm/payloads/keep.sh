
# The daemon: idle groups are reclaimed within their bounds, the pool is drained to its target by the kernel's own write-back, no canary
# reaches the disk, no page is lost, and every setting is as before when it ends, also when it is killed in a burst.
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
start /run/long.toml
tries=3000
while [ "$(cat $ZSWAP/max_pool_percent)" = $limit ] && [ $tries -gt 0 ]; do tries=$((tries - 1)); done
kill -9 $daemon
echo "    killed with the limit at $(cat $ZSWAP/max_pool_percent) %"
if [ $tries -gt 0 ]; then ok "it was in a burst"; else fail "no burst began"; fi
wait $daemon 2> /dev/null
is_restored() {
	settings > /run/after
	cmp -s /run/before /run/after
}
until_true "all is put back after a kill" 60 is_restored
expect_same "settings after a kill" /run/before /run/after
expect "processes of the canaries" 0 "$(ps | grep -c '[k]eep_canary')"
for name in one two three busy guarded never; do verify $name; done
finish
