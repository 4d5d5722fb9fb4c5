
# The boot asked for a compressor that does not exist: nothing fails, and that is the trap.
expect "zswap" Y "$(cat $ZSWAP/enabled)"
expect "compressor" lzo "$(cat $ZSWAP/compressor)"
expect "pool limit" 33 "$(cat $ZSWAP/max_pool_percent)"
dmesg > /run/dmesg
expect_line "the kernel says so" "zswap: compressor bogus not available, using default lzo" /run/dmesg
expect_line "and what it took" "zswap: loaded using pool lzo" /run/dmesg
finish
