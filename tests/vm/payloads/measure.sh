
# The benchmarks on a real kernel: what they say is named rightly, pools are as predicted, and everything is put back.
# Rounds of "compressor zpool" come in /rounds; zpool is "-" where the kernel has no choice.
modprobe zram 2> /dev/null
for module in ext4 lz4 lz4hc zstd; do modprobe $module 2> /dev/null; done
mkdir -p /var/tmp /mnt/disk /etc
echo guest > /etc/machine-id

# Swap files need a file system on a disk: the root of this guest is in RAM.
mount -t ext4 /dev/vde /mnt/disk || fail "no file system for swap files"

# settings: what a benchmark may set for a moment
settings() {
	live_state
	find /sys/fs/cgroup -type d | sort
	cat /sys/fs/cgroup/cgroup.subtree_control
	ls /mnt/disk
}

# unchanged WHAT: everything is as it was before
unchanged() {
	settings > /run/after
	expect_same "settings after $1" /run/before /run/after
}

# bench WHAT SECONDS WORD...: a benchmark that succeeds, ends in time, and puts everything back
bench() {
	what=$1
	shift
	read -r begun _ < /proc/uptime
	quiet_status 0 swaptune bench "$@" --json --results /run/results
	cp /run/last-output /run/answer
	read -r ended _ < /proc/uptime
	echo "    $what: ${begun%.*} s to ${ended%.*} s"
	unchanged "$what"
}

# pool_round COMPRESSOR ZPOOL: the pool of zswap is as large as predicted
pool_round() {
	echo Y > $ZSWAP/enabled
	[ "$2" = - ] || echo "$2" > $ZSWAP/zpool
	echo "$1" > $ZSWAP/compressor
	echo 60 > $ZSWAP/max_pool_percent
	expect "compressor" "$1" "$(cat $ZSWAP/compressor)"
	expect_status 0 pool-size "$1" 128
}

# memory_round COMPRESSOR ZPOOL: half of the memory goes through a zswap that is made for as long as it runs
memory_round() {
	tier="zswap:$1"
	[ "$2" = - ] || tier="$tier/$2"
	bench "memory $tier" memory --size 24M --limit 12M --swap "$tier" --swap-dir /mnt/disk \
		--data low,zero --order sequential --seconds 1
	expect_line "the row names $1" "\"compressor\": \"$1\"" /run/answer
	[ "$2" = - ] || expect_line "the row names $2" "\"zpool\": \"$2\"" /run/answer
	expect_line "pages went out" "\"\(zswpout\|swpout_zero\)\": [1-9]" /run/answer
}

# validate_round WORKLOAD COMPRESSOR: the simulator beside this kernel (swaptune-validate). The table is shown, and what is beyond its bound is named: how near
# both are depends on what else the host of this guest does, so that only what does not is asserted.
validate_round() {
	read -r begun _ < /proc/uptime
	quiet_status 0 swaptune-validate --csv --workload "$1" --compressor "$2" --limit 16M --rounds 1 --swap-dir /mnt/disk
	cp /run/last-output /run/validated
	read -r ended _ < /proc/uptime
	echo "    validate $1 $2: ${begun%.*} s to ${ended%.*} s"
	sed 's/^/    /' /run/validated
	unchanged "validate $1"
	echo "    beyond their bound: $(grep -c ',missed$' /run/validated)"
	expect_line "zswap was compared" "zswpout,pages,[1-9].*,\(good\|within\|missed\)$" /run/validated
}

[ -f $ZSWAP/enabled ] || fail "no zswap"
settings > /run/before
while read -r compressor zpool; do
	echo "=== $compressor $zpool"
	memory_round "$compressor" "$zpool"
done < /rounds
bench "memory disk" memory --size 24M --limit 12M --swap disk --swap-dir /mnt/disk --data high --order random --seconds 1
expect_line "pages went to the disk" "\"pswpout\": [1-9]" /run/answer
bench "memory zram" memory --size 24M --limit 12M --swap zram:lz4 --data low --order sequential --seconds 1
expect_line "the row names zram's algorithm" "\"algorithm\": \"lz4\"" /run/answer
for tier in zswap zram; do
	bench "swap $tier" swap --quick --tier $tier --compressor lz4 --class text --threads 1 --page-cluster 0 --dir /mnt/disk
	expect_line "its rows name lz4" "\"\(compressor\|algorithm\)\": \"lz4\"" /run/answer
done
bench "codecs" codecs --pages-of synthetic:text --pages 256 --codec lz4,zstd --threads 1 --seconds 0.05
expect_line "its rows name zstd" "\"codec\": \"zstd\"" /run/answer
bench "codecs --kernel" codecs --kernel --pages-of synthetic:text --pages 512 --codec lz4,zstd --threads 1 --seconds 0.05 --dir /mnt/disk
expect_line "zswap did it" "\"path\": \"zswap\"" /run/answer
expect_line "zram did it" "\"path\": \"zram\"" /run/answer
guest-tool hold 16 t > /run/holder &
holder=$!
wait_for ready
quiet_status 0 swaptune sample --pid $holder --pages 256 --codec lz4,zstd --json --results /run/results
expect_line "the sample names zstd" "\"codec\": \"zstd\"" /run/last-output
kill $holder
wait $holder 2> /dev/null
unchanged "sample"
expect_status 0 swaptune bench list --results /run/results
for what in memory swap codecs sample; do
	expect_line "its runs are listed" "$what" /run/last-output
done

while read -r workload compressor; do
	validate_round "$workload" "$compressor"
done < /validations

# What is left of a benchmark that is killed.
swaptune bench memory --size 24M --limit 12M --hog=8M --swap zswap:lzo --swap-dir /mnt/disk --data low --order random --seconds 8 \
	--no-save > /dev/null 2>&1 &
killed=$!
tries=100
while [ -z "$(ls -d /sys/fs/cgroup/swaptune-memory-* 2> /dev/null)" ] && [ $tries -gt 0 ]; do
	sleep 0.5
	tries=$((tries - 1))
done
expect "a group while it runs" 1 "$(find /sys/fs/cgroup -type d -name 'swaptune-memory-*' | wc -l)"
kill -9 $killed
wait $killed 2> /dev/null
tries=100
while settings > /run/after && ! cmp -s /run/before /run/after && [ $tries -gt 0 ]; do
	sleep 0.5
	tries=$((tries - 1))
done
unchanged "a kill"
expect "no helper is left" 0 "$(ps | grep -c '[m]emory-helper')"

# Last, for it sets what stays: predicted pools against real ones.
for disk in vdb vdc; do
	mkswap /dev/$disk > /dev/null
	guest-tool swapon 10 /dev/$disk || fail "swapon $disk"
done
while read -r compressor zpool; do
	pool_round "$compressor" "$zpool"
done < /pools
finish
