
# Idle services, as scenarios/idle-services.toml has them: /services holds "disk|N|Y LIMIT APPS PAGES WAKES TOUCH% WRITE% SEED". Prints what the kernel
# counted from before the first service has a page to after the last wake, and what reclaim did in that time.
modprobe lz4 2> /dev/null
CGROUPS=/sys/fs/cgroup
TRACING=/sys/kernel/tracing
read -r SHRINKER LIMIT APPS LOAD < /services

mount -t tracefs tracefs $TRACING 2> /dev/null
swap_disk
if [ "$SHRINKER" = disk ]; then echo N > $ZSWAP/enabled; else zswap_on "$LIMIT" "$SHRINKER"; fi
echo 160 > /proc/sys/vm/swappiness
echo 0 > /proc/sys/vm/page-cluster
group_of_groups

# histogram EVENT KEYS VALUES [FILTER]
histogram() {
	echo "hist:keys=$2:vals=$3:sort=${2##*,}${4:+ if $4}" > $TRACING/events/vmscan/"$1"/trigger || fail "no histogram of $1"
}
histograms() {
	address=$(awk '$3 == "zswap_shrinker_scan" { print $1; exit }' /proc/kallsyms)
	histogram mm_vmscan_kswapd_wake order,zid hitcount
	histogram mm_vmscan_direct_reclaim_begin order hitcount
	histogram mm_vmscan_lru_shrink_inactive common_pid.execname,priority hitcount,nr_scanned,nr_reclaimed
	histogram mm_shrink_slab_start common_pid.execname,priority hitcount,cache_items,total_scan "shrink==0x$address"
}
events() {
	for event in mm_vmscan_kswapd_wake mm_vmscan_direct_reclaim_begin mm_vmscan_lru_shrink_inactive mm_shrink_slab_start; do
		echo "--- $event"
		grep -v '^#' $TRACING/events/vmscan/$event/hist
	done
}

# order WORD...: the service of costs does it
order() {
	echo "$@" >&8
	wanted=$((wanted + 1))
	until [ "$(wc -l < /run/cost-said)" -ge $wanted ]; do :; done
}

# of_each WHAT COUNTERS COMMAND...: what a page takes that one of these counters counts
of_each() {
	what=$1 counters=$2
	shift 2
	count() { awk -v names=" $counters " 'index(names, " " $1 " ") { sum += $2 } END { print sum + 0 }' /proc/vmstat; }
	begin=$(count) from=$(awk '{ print $1 }' /proc/uptime)
	"$@"
	awk -v what="$what" -v pages=$(($(count) - begin)) -v from="$from" '{ printf "cost, %s: %d pages, %.1f us each\n", what, pages, ($1 - from) * 1e6 / pages }' \
		/proc/uptime
}

# costs KIND: what pages take on their way out and back, without codec (zero: nothing but a bit of them is kept) or with it, or by the disk
costs() {
	mkdir $CGROUPS/apps/cost
	[ "$1" != disk ] || echo 0 > $CGROUPS/apps/cost/memory.zswap.max
	rm -f /run/cost-orders
	mkfifo /run/cost-orders
	: > /run/cost-said
	wanted=1
	guest-tool service $CGROUPS/apps/cost 8192 0 ${2:+$2} < /run/cost-orders > /run/cost-said &
	exec 8> /run/cost-orders
	of_each "$1, first touch" pgfault order 100 0 8192 1
	of_each "$1, out" "swpout_zero zswpout pswpout" sh -c "echo 30M > $CGROUPS/apps/cost/memory.reclaim" 2> /dev/null
	of_each "$1, back" "swpin_zero zswpin pswpin" order 0 0 8192 1
	exec 8>&-
	wait $!
	rmdir $CGROUPS/apps/cost
}

# zones: what each zone has free, its watermarks, and what it keeps from allocations for higher zones
zones() { awk '/^Node/ { zone = $4 } $1 ~ /^(pages|min|low|high|managed|protection:)$/ { print zone, $0 }' /proc/zoneinfo; }

if [ -e /costs ]; then
	costs zero zero
	costs disk
	[ "$SHRINKER" = disk ] || costs zswap
fi
: > /run/said
mkfifo /run/orders
guest-tool services $CGROUPS/apps "$APPS" $LOAD < /run/orders > /run/said &
driver=$!
exec 9> /run/orders
until grep -q started /run/said; do sleep 0.5; done
echo 1 > /proc/sys/vm/compact_memory
echo "--- before"
grep -E '^(Mem|Zsw|Anon|Slab|Kernel|PageT|Shmem:|Cached|SwapC)' /proc/meminfo
zones
[ ! -e /histograms ] || histograms
cat /proc/vmstat > /run/vmstat-before
echo >&9
while kill -0 $driver 2> /dev/null && ! grep -q done /run/said; do sleep 1; done
expect_line "all wakes were answered" done /run/said
echo "--- after"
grep -E '^(Mem|Zsw|Anon|Slab|Kernel|PageT|Shmem:|Cached|SwapC)' /proc/meminfo
zones
[ ! -e /histograms ] || events
grep . /sys/kernel/debug/zswap/* 2> /dev/null
echo "held by the system, KiB: $(awk '{ value[$1] = $2 } END { print value["MemTotal:"] - value["MemFree:"] - value["AnonPages:"] - value["Zswap:"] }' /proc/meminfo)"
echo "--- counted, $SHRINKER $LIMIT, $APPS services, $LOAD, $(uname -r), $(nproc) processors"
awk 'NR == FNR { before[$1] = $2; next }
	$1 ~ /^(pswp|zswp|pgscan_|pgsteal_|allocstall|workingset_.*anon|kswapd_|pageoutrun|oom_kill|pgmajfault)/ && $2 > before[$1] { print $1, $2 - before[$1] }' \
	/run/vmstat-before /proc/vmstat
echo >&9
wait $driver
finish
