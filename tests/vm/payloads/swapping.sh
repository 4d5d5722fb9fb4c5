
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

for pair in "lz4 t" "zstd c"; do
	compressor=${pair% *}
	echo "$compressor" > $ZSWAP/compressor
	expect "compressor" "$compressor" "$(cat $ZSWAP/compressor)"
	swap_round "$compressor" "${pair#* }"
done
for disk in vda vdb vdc vdd; do
	expect_status 0 guest-tool swapoff /dev/$disk
done
expect "no area left" 0 "$(awk 'NR > 1' /proc/swaps | wc -l)"
finish
