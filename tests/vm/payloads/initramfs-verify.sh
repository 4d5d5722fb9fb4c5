
# Second boot: the kernel took its words before there was a root file system; proved, and taken back.
STORE=/var/lib/guest-test
modules() { "$(command -v lsinitramfs || command -v lsinitrd)" "/boot/initrd.img-$(uname -r)" | grep -o '[^/ ]*zstd[^/ ]*\.ko' | sort -u | xargs; }
expect "system" running "$(systemctl is-system-running --wait)"
for word in zswap.enabled=1 zswap.compressor=zstd zswap.max_pool_percent=30; do
	expect_line "command line: $word" "$word" /proc/cmdline
done
dmesg > /run/dmesg
expect_line "the kernel took it before there was a root file system" "zswap: loaded using pool zstd/zsmalloc" /run/dmesg
expect_status 0 swaptune verify --prove
expect_line "what was applied" "In effect: every line" /run/last-output
expect_line "proof" "^Proof: as planned" /run/last-output
expect_status 0 swaptune rollback --yes
expect_line "it was made anew" "restored: initramfs" /run/last-output
expect "in the initramfs" "$(cat $STORE/modules)" "$(modules)"
sync
file_state | grep -v '/boot/initrd.img' > /run/files
expect_same "files after rollback" $STORE/files /run/files
live_state > /run/live
expect_same "live state after rollback" $STORE/live /run/live
finish
