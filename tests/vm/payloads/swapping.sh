
# Four equal swap areas and zswap with each compressor: pages go in and come back whole.
modprobe zram 2> /dev/null
for disk in vda vdb vdc vdd; do
	echo 0 > /sys/block/$disk/queue/rotational
	mkswap /dev/$disk > /dev/null
	guest-tool swapon 10 /dev/$disk || fail "swapon $disk"
done
expect "areas with one priority" 4 "$(awk 'NR > 1 && $5 == 10' /proc/swaps | wc -l)"
echo Y > $ZSWAP/enabled
[ -f $ZSWAP/zpool ] && echo zsmalloc > $ZSWAP/zpool
echo "+memory" > /sys/fs/cgroup/cgroup.subtree_control

# round COMPRESSOR KIND
round() {
	echo "$1" > $ZSWAP/compressor
	expect "compressor" "$1" "$(cat $ZSWAP/compressor)"
	group=/sys/fs/cgroup/round
	mkdir $group
	# Emptied here: what the last round's holder said must not be taken for this one's.
	: > /run/holder
	(
		echo 0 > $group/cgroup.procs
		exec guest-tool hold 48 "$2" > /run/holder
	) &
	holder=$!
	wait_for ready || return
	before=$(counter /proc/vmstat zswpout)
	reclaim $group 32
	stored=$(($(counter /proc/vmstat zswpout) - before))
	[ $stored -ge 4000 ] && ok "$1: pages went into zswap" || fail "$1: only $stored pages went into zswap"
	kill -USR1 $holder
	wait_for verified && ok "$1: every page came back whole"
	kill $holder
	wait $holder 2> /dev/null
	rmdir $group
}

# wait_for WORD: the holder says it, or ends
wait_for() {
	while ! grep -q "$1" /run/holder; do
		kill -0 $holder 2> /dev/null || { fail "the holder ended before '$1'"; return 1; }
		sleep 0.2
	done
}

# reclaim GROUP MEBIBYTES: writes may fall short, so in steps
reclaim() {
	left=$2
	while [ "$left" -gt 0 ]; do
		echo 8M 2> /dev/null > "$1/memory.reclaim"
		left=$((left - 8))
	done
}

round lz4 t
round zstd c
for disk in vda vdb vdc vdd; do
	expect_status 0 guest-tool swapoff /dev/$disk
done
expect "no area left" 0 "$(awk 'NR > 1' /proc/swaps | wc -l)"
finish
