
# What this kernel offers, as "key value" lines that the test compares with a table.
echo "release $(uname -r)"
if [ ! -d $ZSWAP ]; then
	echo "zswap absent"
	finish
fi
echo "zswap present"
for file in "$ZSWAP"/*; do
	echo "param ${file##*/} $(cat "$file")"
done
debugfs=absent
[ -d /sys/kernel/debug/zswap ] && debugfs=present
echo "debugfs-before-enable $debugfs"

# A wrong name before the first enable: newer kernels take it without a look.
echo "bogus-before $(set_parameter $ZSWAP/compressor bogus)"
echo lzo > $ZSWAP/compressor
echo Y > $ZSWAP/enabled
echo "enabled $(cat $ZSWAP/enabled)"
debugfs=absent
[ -d /sys/kernel/debug/zswap ] && debugfs=present
echo "debugfs-after-enable $debugfs"
echo "bogus-after $(set_parameter $ZSWAP/compressor bogus)"

for name in lzo lzo-rle lz4 lz4hc zstd deflate 842; do
	echo "compressor $name $(set_parameter $ZSWAP/compressor $name)"
done
if [ -f $ZSWAP/zpool ]; then
	for name in zbud z3fold zsmalloc bogus; do
		echo "zpool $name $(set_parameter $ZSWAP/zpool $name)"
	done
fi
for value in 0 100 150 -1 abc; do
	echo "max_pool_percent $value $(set_parameter $ZSWAP/max_pool_percent $value)"
done
for key in zswpin zswpout zswpwb swpin_zero; do
	grep -q "^$key " /proc/vmstat && echo "vmstat $key"
done
grep '^Zswap' /proc/meminfo | sed 's/^\([^:]*\):.*/meminfo \1/'
modprobe zram && echo "zram $(cat /sys/block/zram0/comp_algorithm)"
finish
