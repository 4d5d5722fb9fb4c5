
# Memory that is written once as fast as it can be, beside a pool that idle services have nearly filled: with zswap off, on, and on with a daemon that
# drains it. The setting is that of T. Funaki's series of 2024: a quarter of RAM for the pool, accept threshold 50, three pages of four
# compressible, twice RAM. /blocks holds the number of blocks. One line a run; times are those of emulation, their ratio within a block counts.
read -r BLOCKS < /blocks
SERVICES="one two three four five six seven eight nine"
MIB=36
SIZE=700
set_up
echo 25 > $ZSWAP/max_pool_percent
echo 50 > $ZSWAP/accept_threshold_percent
cat > /run/drain.toml << END
[keep]
limit = false
reclaim = false
pacing_start_percent = 50
pacing_target_percent = 40
pacing_budget = "1000G"
END

hundredths() { awk '{ print int($1 * 100) }' /proc/uptime; }
written() { counter /proc/vmstat pswpout; }

# out: the services sleep, and their pages go to where they belong
out() {
	for name in $SERVICES; do
		for _ in 1 2 3 4 5; do echo 8M 2> /dev/null > $APPS/$name/memory.reclaim; done
	done
}

# in_again: all of them are used once, so that each run begins alike
in_again() { for name in $SERVICES; do verify $name > /run/verified; grep FAIL /run/verified; done; }

# run BLOCK NAME: 25 s for the daemon, or for nothing, then the program
run() {
	case $2 in off) echo N > $ZSWAP/enabled ;; *) echo Y > $ZSWAP/enabled ;; esac
	settings > /run/before
	out
	filled=$(meminfo Zswap)
	[ $2 != paced ] || start /run/drain.toml
	sleep 25
	began=$(meminfo Zswap) out=$(written) stored=$(counter /proc/vmstat zswpout) back=$(counter /proc/vmstat zswpwb) at=$(hundredths)
	guest-tool hold $SIZE m > /run/allocated &
	program=$!
	until grep -q ready /run/allocated || ! kill -0 $program 2> /dev/null; do sleep 0.1; done
	took=$(($(hundredths) - at))
	ticks=$(awk '{ print $14, $15 }' /proc/$program/stat)
	grep -q ready /run/allocated || fail "the program was killed"
	echo "run $1 $2: $took hundredths of a second, user and sys ${ticks:-none}; pool $filled then $began kB;" \
		"stored $(($(counter /proc/vmstat zswpout) - stored)), to the disk $(($(written) - out)), of it written back $(($(counter /proc/vmstat zswpwb) - back))"
	kill -9 $program
	wait $program 2> /dev/null
	[ $2 != paced ] || stop_daemon
	in_again
}

for name in $SERVICES; do hold $name; done
block=1
while [ $block -le "$BLOCKS" ]; do
	case $((block % 3)) in
	1) order="off on paced" ;;
	2) order="on paced off" ;;
	*) order="paced off on" ;;
	esac
	for name in $order; do run $block $name; done
	block=$((block + 1))
done
for name in $SERVICES; do verify $name; done
finish
