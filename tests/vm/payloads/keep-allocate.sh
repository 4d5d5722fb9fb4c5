
# What allocating costs beside idle services whose pages fill the pool, with zswap off and on, and with a daemon that has drained the pool before.
# /allocate holds "MIB ROUNDS VARIANT…". The pool's limit is 25 % and the accept threshold 50 %, as in the series of 2024 whose benchmark
# this follows (T. Funaki, "mm: zswap: global shrinker fix and proactive shrink").
read -r SIZE ROUNDS VARIANTS < /allocate
set_up
echo 25 > $ZSWAP/max_pool_percent
echo 50 > $ZSWAP/accept_threshold_percent
echo 0 > /proc/sys/vm/page-cluster
# How long services sleep before memory is allocated, s: enough for the daemon to drain a pool of this size.
QUIET=40
CGROUP=$CGROUPS/allocate
mkdir $CGROUP

count() { awk -v name="$1" '$1 == name { print $2 }' /proc/vmstat; }
now() { tr -d . < /proc/uptime | cut -d' ' -f1; }
used() { awk -v name="$1_usec" '$1 == name { print int($2 / 1000) }' $CGROUP/cpu.stat; }

# put_to_sleep: six services of 100 MiB, nearly all of it in swap
put_to_sleep() {
	for name in one two three four five six; do
		hold $name 100
		for _ in 1 2 3 4 5 6 7 8 9 10; do echo 10M 2> /dev/null > $APPS/$name/memory.reclaim; done
	done
}

# allocate VARIANT
allocate() {
	began=$(now) user=$(used user) system=$(used system) stores=$(count zswpout) writes=$(count pswpout) back=$(count zswpwb)
	(
		echo 0 > $CGROUP/cgroup.procs
		exec swaptune bench workload alloc --size "${SIZE}M" --seed "$round" --dir /tmp > /run/said 2>&1
	)
	status=$?
	expect "exit status" 0 $status
	[ $status = 0 ] || sed 's/^/    /' /run/said
	echo "    $1, round $round: $((($(now) - began) * 10)) ms, user $(($(used user) - user)) ms, system $(($(used system) - system)) ms;" \
		"$(($(count zswpout) - stores)) stored, $(($(count pswpout) - writes)) written, $(($(count zswpwb) - back)) of them from the pool"
}

# paced START TARGET: what the daemon is told
paced() { printf '[keep]\nlimit = false\nreclaim = false\npacing_start_percent = %s\npacing_target_percent = %s\n' "$1" "$2" > /run/keep.toml; }

run() {
	echo "=== $1, round $round"
	case $1 in off) echo N > $ZSWAP/enabled ;; *) echo Y > $ZSWAP/enabled ;; esac
	put_to_sleep
	settings > /run/before
	case $1 in
	paced) paced 80 70 && start /run/keep.toml ;;
	paced-low) paced 50 40 && start /run/keep.toml ;;
	esac
	pool=$(meminfo Zswap)
	sleep $QUIET
	echo "    the pool held $pool kB, and $(meminfo Zswap) kB after $QUIET s of $(($(meminfo MemTotal) / 4)) kB"
	allocate "$1"
	case $1 in paced*) stop_daemon ;; esac
	for name in one two three four five six; do
		[ "$round" != 1 ] || verify $name
		end_service $name
	done
}

round=1
while [ $round -le "$ROUNDS" ]; do
	for variant in $VARIANTS; do run "$variant"; done
	# The next round the other way round: what drifts does so for all.
	VARIANTS=$(echo "$VARIANTS" | tr ' ' '\n' | sed '1!G;h;$!d' | tr '\n' ' ')
	round=$((round + 1))
done
finish
