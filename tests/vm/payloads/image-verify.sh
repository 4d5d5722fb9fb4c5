
# First boot of an image that was configured while it did not run: the kernel was started with zswap's words, and all is in effect.
expect "system" running "$(systemctl is-system-running --wait)"
journalctl --no-pager -b -u swaptune
cat /proc/cmdline
for word in zswap.enabled=1 zswap.compressor=zstd zswap.max_pool_percent=30; do
	expect_line "command line: $word" "$word" /proc/cmdline
done
# Without the hook in the initramfs it would be lzo by then, and the service would have to set it.
dmesg > /run/dmesg
expect_line "the kernel took it before there was a root file system" "zswap: loaded using pool zstd/zsmalloc" /run/dmesg
expect "zswap" Y "$(cat $ZSWAP/enabled)"
expect "compressor" zstd "$(cat $ZSWAP/compressor)"
expect "pool limit" 30 "$(cat $ZSWAP/max_pool_percent)"
expect "areas with priority 10" 2 "$(awk 'NR > 1 && $5 == 10' /proc/swaps | wc -l)"
expect "swappiness" 85 "$(cat /proc/sys/vm/swappiness)"
# That its disk only claims to spin is the one thing that the image could not know.
expect_status 1 swaptune verify --prove
expect_line "what was applied" "In effect: every line" /run/last-output
expect_line "one finding" "^Findings: 0 errors, 1 warning" /run/last-output
expect_line "it is of the disk" "warning swap-virtual-rotational" /run/last-output
expect_line "proof" "^Proof: as planned" /run/last-output
expect_status 0 swaptune history
finish
