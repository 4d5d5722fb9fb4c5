
# zram compresses idle pages again: the module of /zram.ko, which has a secondary compressor, is what this kernel has from now on. The device is
# set up by apply, the daemon marks and recompresses, no page is lost, and every setting is as before when it ends.
MIB=24
ZRAM=/sys/block/zram0
rmmod zram 2> /dev/null
cp /zram.ko "$(find /lib/modules -name 'zram.ko*' | head -n 1)"
# What a kernel with that module says of itself.
sed -i 's/^# CONFIG_ZRAM_MULTI_COMP is not set/CONFIG_ZRAM_MULTI_COMP=y/' "/boot/config-$(uname -r)"
echo +memory > $CGROUPS/cgroup.subtree_control
mkdir $APPS
echo +memory > $APPS/cgroup.subtree_control
cat > /run/wanted.toml << END
profile = "none"
[[zram]]
size = "192M"
algorithm = ["lz4"]
recomp_algorithm = ["zstd"]
END
expect_status 0 swaptune apply --now --yes --config /run/wanted.toml
expect_line "the secondary compressor" "#1: .*\[zstd\]" $ZRAM/recomp_algorithm
expect_status 0 swaptune verify
expect_status 0 swaptune apply --now --yes --config /run/wanted.toml
expect_line "there is nothing left to do" "Nothing to do" /run/last-output

used() { awk '{ print $3 }' $ZRAM/mm_stat; }
hold one
hold two
for name in one two; do
	for _ in 1 2 3 4; do echo 6M 2> /dev/null > $APPS/$name/memory.reclaim; done
done
echo "    zram: $(cat $ZRAM/mm_stat)"
cat > /run/zram.toml << END
[keep]
limit = false
pacing = false
reclaim = false
zram_idle_s = 5
zram_every_s = 2
zram_floor = "0"
# Under emulation all waits are long.
zram_stall_us = 900000
zram_io_stall_us = 900000
zram_pages = 100000
zram_hold_ms = 100
END
settings > /run/before
before=$(used)
start /run/zram.toml
is_smaller() { [ $(($(used) * 100)) -lt $((before * 95)) ]; }
until_true "idle pages are compressed again" 180 is_smaller
quiet_status 0 swaptune daemon status --json
expect_line "it tells that" '"zram_recompressed": [1-9]' /run/last-output
expect_status 0 swaptune daemon status
stop_daemon
echo "    zram: $(cat $ZRAM/mm_stat), $before bytes before"
for name in one two; do verify $name; done
for name in one two; do end_service $name; done
expect_status 0 swaptune rollback --yes
expect "swap" 1 "$(wc -l < /proc/swaps)"
if [ -e /sys/module/zram ]; then fail "zram is still there"; else ok "zram is gone"; fi
finish
