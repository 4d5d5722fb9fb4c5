
# Benchmarks on a whole system: a memory limit is a scope of systemd, delegated to us and gone with the command; fio and cryptsetup
# are Debian's, on a kernel that has the ciphers.
cp swaptune /usr/local/bin/swaptune
systemctl is-system-running --wait

scopes() { systemctl list-units --all --no-legend --plain 'swaptune-*.scope' | awk '{ print $1 }'; }

# settings: what must be as before
settings() {
	cat $ZSWAP/enabled $ZSWAP/compressor
	awk "{ print \$1, \$2, \$3, \$5 }" /proc/swaps | sort
	scopes
	ls /var/tmp
}

# begin SECONDS: a benchmark in the background, until its scope is there
begin() {
	swaptune bench memory --size 48M --limit 24M --swap zswap:lzo --data low --order sequential --seconds "$1" \
		--no-save --json > /run/answer 2> /run/said &
	bench=$!
	tries=200
	while [ -z "$(scopes)" ] && kill -0 $bench 2> /dev/null && [ $tries -gt 0 ]; do
		sleep 0.2
		tries=$((tries - 1))
	done
	scope=$(scopes)
	expect "scope" "swaptune-memory-$bench.scope" "$scope"
	expect "limit" 25165824 "$(systemctl show --value -p MemoryMax "$scope")"
	expect "delegated" yes "$(systemctl show --value -p Delegate "$scope")"
}

# until_as_before WHAT
until_as_before() {
	tries=200
	while settings > /run/after && ! cmp -s /run/before /run/after && [ $tries -gt 0 ]; do
		sleep 0.2
		tries=$((tries - 1))
	done
	expect_same "settings after $1" /run/before /run/after
}

settings > /run/before
begin 4
wait $bench
expect "exit status of the benchmark" 0 $?
cat /run/said
expect_line "it ran under the limit" "\"limit\": 25165824" /run/answer
expect_line "pages went into zswap" "\"zswpout\": [1-9]" /run/answer
until_as_before "a run"
begin 60
kill -9 $bench
wait $bench 2> /dev/null
until_as_before "a kill"

# A command is in its scope before its first step, and so is what it starts.
cat > /run/forks << 'END'
cat /proc/self/cgroup >> /run/groups
(cat /proc/self/cgroup >> /run/groups) &
setsid sh -c 'cat /proc/self/cgroup >> /run/groups'
wait
END
expect_status 0 swaptune compare --memory 64M --limit group --runs 2 --variant none --variant disk --no-save -- sh /run/forks
# The first run only shows that the command works, and is not in a group.
sed 1,3d /run/groups > /run/measured
expect "processes outside of a scope" 0 "$(grep -cv '/swaptune-[^/]*\.scope' /run/measured)"
if [ "$(wc -l < /run/measured)" -ge 12 ]; then ok "every process was seen"; else fail "$(wc -l < /run/measured) processes were seen"; fi
until_as_before "a comparison"

expect_status 0 swaptune bench cipher --results /run/results
expect_line "the cipher for disks" "aes-xts" /run/last-output
expect_status 0 swaptune bench disk --dir /var/tmp --areas 2 --jobs 1 --seconds 0.5 --rounds 2 --size 16M --results /run/results
expect_line "one disk" "vda" /run/last-output
expect_status 0 swaptune bench list --results /run/results
for what in cipher disk; do
	expect_line "the run is listed" "$what" /run/last-output
done
settings > /run/after
expect_same "settings after cipher and disk" /run/before /run/after
finish
