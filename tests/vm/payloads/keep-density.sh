
# How many idle services fit, at a fixed limit of the pool or with the daemon: /density holds "LIMIT LAW SEED RATE SKEW N,N", where LAW is the one
# that works, or none. Prints one result as JSON.
for module in lz4 zstd; do modprobe $module 2> /dev/null; done
CGROUPS=/sys/fs/cgroup
read -r LIMIT LAW SEED RATE SKEW NUMBERS < /density

swap_disk
zswap_on "$LIMIT" N
echo 100 > /proc/sys/vm/swappiness
echo 0 > /proc/sys/vm/page-cluster
group_of_groups
cat > /bin/service << END
#!/bin/sh
mkdir $CGROUPS/apps/\$\$
echo \$\$ > $CGROUPS/apps/\$\$/cgroup.procs
exec guest-tool serve
END
chmod 755 /bin/service

live_state > /run/before
works() { if [ "$LAW" = "$1" ]; then echo "$1 = true"; else echo "$1 = false"; fi; }
if [ "$LAW" != none ]; then
	{
		echo '[keep]'
		for law in limit pacing reclaim; do works $law; done
		# Ten minutes are longer than a window.
		echo 'reclaim_idle_s = 30'
	} > /run/keep.toml
	swaptune daemon --config /run/keep.toml 2> /run/daemon-said &
	daemon=$!
	while ! swaptune daemon status > /dev/null 2>&1; do sleep 1; done
fi
# Emulation is slow: what is counted is pages, and no wake is too late.
swaptune bench density --in-place --json --no-save --heap 8M --at "$NUMBERS" --wakes 40 --rate "$RATE" --skew "$SKEW" --rounds 1 --bound 1000s --stall 100 \
	--seed "$SEED" -- /bin/service > /run/result 2> /run/said
status=$?
expect "exit status of bench density" 0 $status
[ $status = 0 ] || sed 's/^/    /' /run/said
echo "limit $LIMIT % of RAM, law: $LAW, seed $SEED, $RATE wakes a second, skew $SKEW"
sed 's/^/    /' /run/result
if [ "$LAW" != none ]; then
	swaptune daemon status | sed 's/^/    /'
	kill $daemon
	wait $daemon
	expect "exit status of the daemon" 0 $?
	sed 's/^/    /' /run/daemon-said
	live_state > /run/after
	expect_same "settings after the daemon" /run/before /run/after
fi
finish
