# A program that writes twice what RAM holds at once: with slots free nothing is killed at the limits of the pool. /burst holds "BYTES LIMIT…".
read -r BYTES LIMITS < /burst
modprobe lz4
mkswap /dev/vda > /dev/null
echo 0 > /sys/block/vda/queue/rotational
guest-tool swapon 10 /dev/vda || fail "swapon"
echo lz4 > $ZSWAP/compressor
echo N > $ZSWAP/shrinker_enabled
echo Y > $ZSWAP/enabled
# As a plan sets them. Up to 6.12 zswap takes no large folio.
echo madvise > /sys/kernel/mm/transparent_hugepage/enabled
echo 160 > /proc/sys/vm/swappiness
echo 0 > /proc/sys/vm/page-cluster
echo 50 > /proc/sys/vm/watermark_scale_factor
count() { awk -v name="$1" '$1 == name { print $2 }' /proc/vmstat; }
for limit in $LIMITS; do
	echo "$limit" > $ZSWAP/max_pool_percent
	for seed in 1 2 3; do
		kills=$(count oom_kill) stores=$(count zswpout) writes=$(count pswpout) began=$(cut -d. -f1 /proc/uptime)
		swaptune bench workload alloc --size "$BYTES" --seed $seed --dir /tmp > /run/said 2>&1
		status=$?
		kills=$(($(count oom_kill) - kills)) stores=$(($(count zswpout) - stores)) writes=$(($(count pswpout) - writes))
		echo "    limit $limit %, seed $seed: $(($(cut -d. -f1 /proc/uptime) - began)) s, $stores pages stored, $writes to the disk, $kills killed"
		expect "exit status with $limit %" 0 $status
		[ $status = 0 ] || sed 's/^/    /' /run/said
		expect "killed with $limit %" 0 $kills
	done
done
finish
