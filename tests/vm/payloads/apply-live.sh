
# swaptune turns zswap and four equal swap areas on, proves it, and takes all of it back.
# Rounds of "compressor zpool" come in /rounds; zpool is "-" where the kernel has no choice.
echo "+memory" > /sys/fs/cgroup/cgroup.subtree_control
mkdir -p /etc/swaptune
# Any write to it makes the kernel compute vm.min_free_kbytes anew, from the memory that is managed at that moment (set_recommended_min_free_kbytes,
# mm/khugepaged.c), and it only rises. What boot has freed since the first time is in it from here on.
THP=/sys/kernel/mm/transparent_hugepage/enabled
thp=$(sed 's/.*\[\(.*\)\].*/\1/' $THP)
echo never > $THP
echo "$thp" > $THP

# configure COMPRESSOR ZPOOL
configure() {
	echo 'profile = "idle-guide"'
	echo '[zswap]'
	echo "compressor = \"$1\""
	[ "$2" = - ] || echo "zpool = \"$2\""
	echo 'max_pool_percent = 30'
	for disk in vda vdb vdc vdd; do
		echo '[[swap]]'
		echo "path = \"/dev/$disk\""
		echo 'priority = 10'
	done
	echo '[knobs]'
	echo '"vm.swappiness" = 85'
}

# What an earlier round has swapped to a disk stays there after its rollback, and no signature names it.
WIPE="--wipe /dev/vda --wipe /dev/vdb --wipe /dev/vdc --wipe /dev/vdd"

# take_state PREFIX
take_state() {
	live_state > "$1-live"
	file_state > "$1-files"
}

# in_effect COMPRESSOR ZPOOL: read from the kernel, without swaptune's help
in_effect() {
	expect "zswap" Y "$(cat $ZSWAP/enabled)"
	expect "compressor" "$1" "$(cat $ZSWAP/compressor)"
	[ "$2" = - ] || expect "zpool" "$2" "$(cat $ZSWAP/zpool)"
	expect "pool limit" 30 "$(cat $ZSWAP/max_pool_percent)"
	expect "areas with priority 10" 4 "$(awk 'NR > 1 && $5 == 10' /proc/swaps | wc -l)"
	expect "swappiness" 85 "$(cat /proc/sys/vm/swappiness)"
}

# roll_back: everything is as in the state that was taken before
roll_back() {
	expect_status 0 swaptune rollback --yes
	take_state /run/after
	expect_same "live state after rollback" /run/before-live /run/after-live
	expect_same "files after rollback" /run/before-files /run/after-files
}

quiet_status 0 swaptune inspect
expect_status 0 swaptune status
expect_line "status says that zswap is off" "zswap: off" /run/last-output
while read -r compressor zpool; do
	echo "=== $compressor $zpool"
	configure "$compressor" "$zpool" > /etc/swaptune/config.toml
	take_state /run/before
	expect_status 0 swaptune plan $WIPE
	take_state /run/planned
	expect_same "live state after plan" /run/before-live /run/planned-live
	expect_same "files after plan" /run/before-files /run/planned-files
	expect_status 0 swaptune apply --now --yes $WIPE
	in_effect "$compressor" "$zpool"
	expect_status 0 swaptune verify --prove
	swap_round "$compressor" c
	expect_status 0 swaptune apply --now --yes
	expect_line "a second apply finds nothing to do" "nothing" /run/last-output
	expect_status 0 swaptune status
	expect_line "status says it" "zswap: on, $compressor" /run/last-output
	roll_back
done < /rounds

# The default: a limit that leaves 192 MiB, between 70 and 80 % (profiles/auto.toml), and no shrinker, even where it was on. lz4, for this guest has
# one processor.
total=$(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo)
limit=$((100 - (196608 * 100 + total - 1) / total))
[ $limit -ge 70 ] || limit=70
[ $limit -le 80 ] || limit=80
echo "=== auto, a limit of $limit % of $total kB"
# areas COUNT: as many of the disks, and no other word
areas() { configure lz4 - | sed '1,/max_pool_percent/d; /\[knobs\]/,$d' | head -n $(($1 * 3)); }
areas 4 > /etc/swaptune/config.toml
shrinker=$ZSWAP/shrinker_enabled
[ -f $shrinker ] && echo Y > $shrinker
take_state /run/before
expect_status 0 swaptune plan --now --profile auto $WIPE
expect_line "it says what fits" "^ *Capacity .* → .*without reading a disk" /run/last-output
expect_status 0 swaptune apply --now --yes --profile auto $WIPE
expect "zswap" Y "$(cat $ZSWAP/enabled)"
expect "compressor" lz4 "$(cat $ZSWAP/compressor)"
expect "pool limit" $limit "$(cat $ZSWAP/max_pool_percent)"
[ -f $shrinker ] && expect "shrinker" N "$(cat $shrinker)"
expect_status 0 swaptune verify --prove
roll_back

# One disk has fewer slots than RAM has pages: zram goes before it.
echo "=== auto, one disk of $(($(cat /sys/block/vda/size) / 2)) kB"
areas 1 > /etc/swaptune/config.toml
take_state /run/before
expect_status 0 swaptune apply --now --yes --profile auto --wipe /dev/vda
expect "zswap" N "$(cat $ZSWAP/enabled)"
expect "areas, zram first" "/dev/zram0 100 /dev/vda 10" "$(awk 'NR > 1 { print $1, $5 }' /proc/swaps | sort -k 2 -n -r | xargs)"
size=$(cat /sys/block/zram0/disksize)
if [ $((size / 1024)) -le "$total" ] && [ $((size / 1024 + 65536)) -gt "$total" ]; then ok "as large as RAM"; else fail "$size bytes for $total kB"; fi
expect_status 0 swaptune verify --prove
expect_status 0 swaptune plan --now --profile auto
expect_line "nothing is left to do" "^Nothing" /run/last-output
roll_back
expect_status 0 swaptune history
expect "transactions" $(($(wc -l < /rounds) + 2)) "$(grep -c ' rolled back ' /run/last-output)"
finish
