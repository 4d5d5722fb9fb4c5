
# The package from installation to purge: upgraded with its work in effect, removed with that taken back, and kept where asked.
systemctl is-system-running --wait
install -m 755 guest-tool /usr/local/bin/guest-tool
system_state() {
	file_state
	live_state
}
# A user, whose manager starts a service in a group that is his own. What pam_systemd sets is set here: it is not installed.
useradd --create-home --uid 1001 app
wants=/home/app/.config/systemd/user/default.target.wants
mkdir -p $wants /etc/systemd/system/user@.service.d
printf '[Service]\nExecStart=/usr/local/bin/guest-tool hold 16 c\n' > $wants/../own.service
ln -s ../own.service $wants/own.service
printf '[Service]\nEnvironment=XDG_RUNTIME_DIR=/run/user/%%i\n' > /etc/systemd/system/user@.service.d/runtime.conf
systemctl daemon-reload
system_state > /run/before
install_package() {
	expect_status 0 env DEBIAN_FRONTEND=noninteractive dpkg --install "$1"
}
remains() {
	find / -xdev -iname '*swaptune*' -not -path '/run/*' -not -path '/mnt/*' -not -path '/var/lib/guest-test/*' | sort
}

install_package swaptune-1.deb
expect "program" /usr/bin/swaptune "$(command -v swaptune)"
expect_status 0 swaptune --version
expect_line "page of the manual" "usr/share/man/man8/swaptune.8.gz" /var/lib/dpkg/info/swaptune.list
expect "socket" disabled "$(systemctl is-enabled swaptune-watch.socket)"
expect "units of the package" "" "$(systemd-analyze verify swaptune-watch.socket swaptune-watch.service 2>&1 | grep swaptune)"
expect_status 0 systemctl start swaptune-watch.socket
bash -c 'exec 3<> /dev/tcp/127.0.0.1/9877; printf "GET /metrics HTTP/1.0\r\n\r\n" >&3; cat <&3' > /run/metrics
expect_line "metrics by the socket" "^swaptune_" /run/metrics

# What it has applied stays in effect through an upgrade.
mkdir -p /etc/swaptune
cp config.toml /etc/swaptune/config.toml
expect_status 0 swaptune apply --yes
expect_line "boot service starts the packaged program" "^ExecStart=/usr/bin/swaptune " /etc/systemd/system/swaptune.service
install_package swaptune-2.deb
expect_line "version" "^[0-9.]*-2\$" "$(dpkg-query -W -f '${Version}\n' swaptune > /run/version; echo /run/version)"
expect_status 0 swaptune verify
expect "zswap after the upgrade" Y "$(cat $ZSWAP/enabled)"

# The daemon as a service: thirty idle services give memory, everybody can read what it says, and what it sets goes with it.
running() { systemctl show swaptuned --property "$1" --value; }
said() { swaptune watch --once --json | tr -d ' \n' | grep -o "\"$1\":{[^}]*}" | grep -o '"value":[0-9.]*' | cut -d: -f2; }
for number in $(seq 30); do
	systemd-run --quiet --unit="idle-$number" guest-tool hold 8 c || fail "start of idle-$number"
done
# One more below the manager of a user, who owns its group's files.
expect_status 0 systemctl start user@1001.service
own=$(find /sys/fs/cgroup/user.slice -type d -name own.service)
expect "owner of the group of a user's service" app "$(stat -c %U "$own/memory.reclaim")"
expect "idle services" 30 "$(systemctl list-units --plain --no-legend --state=active 'idle-*.service' | wc -l)"
swaptune status > /run/status
expect_line "no word of a daemon that nobody wants" "^RAM" /run/status
expect "no word of it" 0 "$(grep -c '^Daemon' /run/status)"
live_state > /run/live-before
expect_status 0 systemctl enable --now swaptuned
expect "state, for which READY=1 was heard" active "$(systemctl is-active swaptuned)"
tries=300
until [ "$(swaptune daemon status --json 2> /dev/null | grep -c '"probes": [1-9][0-9]')" = 1 ] || [ $tries -eq 0 ]; do
	sleep 1
	tries=$((tries - 1))
done
if [ $tries -gt 0 ]; then ok "idle services have given memory"; else fail "no probes in time"; fi
expect_status 0 swaptune daemon status
expect_status 0 runuser -u nobody -- swaptune status
expect_line "status says what it took" "taken from idle units in [1-9]" /run/last-output
expect_line "and how much of it is out" "of it still in" /run/last-output
expect_line "and which laws work" "laws at work: .*reclaim" /run/last-output
taken=$(said daemon_taken_bytes)
if [ "${taken:-0}" -gt 1000000 ]; then ok "watch counts $taken B taken"; else fail "watch says '$taken' was taken"; fi
expect "watch says that it runs" 1 "$(said daemon_running)"
swaptune watch --once > /run/watch
expect_line "watch shows decisions" "^daemon_decision.*reclaim: took .* from .*idle-" /run/watch
swaptune watch --once --json > /run/watch.json
expect_line "and so do programs see them" '"law": "reclaim"' /run/watch.json
tries=120
until [ "$(cat "$own/memory.swap.current")" -gt 1000000 ] || [ $tries -eq 0 ]; do
	sleep 1
	tries=$((tries - 1))
done
if [ $tries -gt 0 ]; then ok "a user's service has given memory"; else fail "a user's service has $(cat "$own/memory.swap.current") B in swap"; fi
expect "starts by itself" 0 "$(running NRestarts)"
if [ "$(running WatchdogTimestampMonotonic)" -gt "$(running ActiveEnterTimestampMonotonic)" ]; then ok "the watchdog is fed"; else fail "the watchdog is not fed"; fi
locked=$(awk '$1 == "Locked:" { print $2 }' "/proc/$(running MainPID)/smaps_rollup")
if [ "$locked" -gt 500 ] && [ "$locked" -le 6144 ]; then ok "its own memory is locked: $locked kB"; else fail "$locked kB of it are locked"; fi
running StatusText > /run/told
expect_line "what systemd is told" "given back by units" /run/told
quiet_status 0 systemd-analyze --no-pager --threshold=30 security swaptuned.service
# A program that is gone without a word is started again, and nothing of it is left meanwhile.
systemctl kill --signal=KILL swaptuned
tries=120
until [ "$(running NRestarts)" = 1 ] && [ "$(systemctl is-active swaptuned)" = active ] || [ $tries -eq 0 ]; do
	sleep 1
	tries=$((tries - 1))
done
expect "starts by itself after a kill" 1 "$(running NRestarts)"
expect_status 0 systemctl stop swaptuned
expect "result" success "$(running Result)"
live_state > /run/live-after
expect_same "settings after the daemon" /run/live-before /run/live-after
expect "groups of the daemon" "" "$(find /sys/fs/cgroup -type d -name 'swaptune-*' ! -name '*.service' ! -name '*.socket')"
expect_status 0 swaptune status
expect_line "it is enabled and does not run" "not running" /run/last-output

# Stopped in a burst it is killed by its guardian, which the service's bounds must let it do, and all is put back. So that bursts begin: a disk that
# says it does not rotate, no shrinker, and a limit of which the pool takes most.
cp /etc/swaptune/config.toml /run/config-before
live_state > /run/live-package
cat >> /etc/swaptune/config.toml << END
limit = false
reclaim = false
pacing_start_percent = 20
pacing_target_percent = 5
pacing_burst_ms = 10000
pacing_chunk = "1G"
END
rotational=$(for file in /sys/block/*/queue/rotational; do [ "$(cat "$file")" = 1 ] && echo "$file"; done)
for file in $rotational; do echo 0 > "$file"; done
echo N > $ZSWAP/shrinker_enabled
for number in $(seq 30); do echo 8M 2> /dev/null > "/sys/fs/cgroup/system.slice/idle-$number.service/memory.reclaim"; done
# A burst lowers it to what the pool takes.
limit=$(awk '$1 == "MemTotal:" { ram = $2 } $1 == "Zswap:" { pool = $2 } END { print int(100 * pool / ram) + 2 }' /proc/meminfo)
echo "    limit $limit %, $(grep Zswap: /proc/meminfo)"
echo "$limit" > $ZSWAP/max_pool_percent
live_state > /run/live-stuck
# First as a service does it: small bursts, until it is below its target or the disk's turn takes too long for a test.
sed -i 's/^pacing_chunk = .*/pacing_chunk = "1M"/' /etc/swaptune/config.toml
pool() { awk '$1 == "Zswap:" { print $2 }' /proc/meminfo; }
written_back() { counter /proc/vmstat zswpwb; }
pool_before=$(pool) written_before=$(written_back)
expect_status 0 systemctl start swaptuned
tries=60
until [ "$(written_back)" -gt $((written_before + 2000)) ] || [ $tries -eq 0 ]; do
	sleep 1
	tries=$((tries - 1))
done
if [ $tries -gt 0 ]; then ok "the pool is drained"; else
	fail "$(($(written_back) - written_before)) pages were written back in a minute"
	journalctl --unit swaptuned --boot --no-pager | tail -n 20 | sed 's/^/    /'
fi
echo "    pool $pool_before kB before, $(pool) kB after, $(($(written_back) - written_before)) pages written back in $((60 - tries)) s"
expect_status 0 swaptune daemon status
expect_status 0 systemctl stop swaptuned
live_state > /run/live-after
expect_same "settings after a daemon that drained" /run/live-stuck /run/live-after
sed -i 's/^pacing_chunk = .*/pacing_chunk = "1G"/' /etc/swaptune/config.toml
expect_status 0 systemctl start swaptuned
daemon=$(running MainPID)
tries=100000
while read -r percent < $ZSWAP/max_pool_percent && [ "$percent" = "$limit" ] && [ $tries -gt 0 ]; do tries=$((tries - 1)); done
[ $tries -gt 0 ] || swaptune daemon status
kill -STOP "$daemon"
echo "    stopped with the limit at $percent %"
if [ $tries -gt 0 ]; then ok "it was in a burst"; else fail "no burst began"; fi
tries=120
until [ ! -e "/proc/$daemon" ] || [ $tries -eq 0 ]; do
	sleep 1
	tries=$((tries - 1))
done
if [ $tries -gt 0 ]; then ok "its guardian killed it"; else fail "it is still there"; fi
expect_status 0 systemctl stop swaptuned
live_state > /run/live-after
expect_same "settings after a daemon that was stopped" /run/live-stuck /run/live-after
expect_line "the guardian says why" "did not end in time what it had begun" "$(journalctl --unit swaptuned --boot > /run/journal; echo /run/journal)"
awk '$1 ~ /(max_pool_percent|shrinker_enabled|rotational)$/' /run/live-package | while read -r file value; do echo "$value" > "$file"; done
cp /run/config-before /etc/swaptune/config.toml
expect_status 0 systemctl start swaptuned
expect_status 0 systemctl stop 'idle-*.service' user@1001.service

# An upgrade runs the daemon of the new version; a removal that is refused leaves it running and enabled.
daemon=$(running MainPID)
install_package swaptune-2.deb
expect "daemon after an upgrade" active "$(systemctl is-active swaptuned)"
if [ "$(running MainPID)" != "$daemon" ]; then ok "it was started again"; else fail "the one of before still runs"; fi
sysctl_file=/etc/sysctl.d/99-zz-swaptune.conf
cp $sysctl_file /run/sysctl-before
echo "# mine" >> $sysctl_file
quiet_status 1 env DEBIAN_FRONTEND=noninteractive dpkg --remove swaptune
expect_line "a removal that cannot take all back is refused" "the package stays until its changes are taken back whole" /run/last-output
expect_line "the package is still there" "^install ok installed\$\|^deinstall ok installed\$" "$(dpkg-query -W -f '${Status}\n' swaptune > /run/state; echo /run/state)"
expect "daemon after a refused removal" "active enabled" "$(systemctl is-active swaptuned) $(systemctl is-enabled swaptuned)"
expect_line "what was changed is left alone" "^# mine\$" $sysctl_file
cp /run/sysctl-before $sysctl_file
expect_status 0 swaptune apply --yes
expect_status 0 systemctl stop swaptuned

# Where control groups of version 2 have no memory controller it asks processes, with the capabilities of the guide and within the service's
# other bounds. It is shown a list of controllers without that one.
echo "cpuset cpu io pids" > /run/controllers
drop_in=/etc/systemd/system/swaptuned.service.d
mkdir -p $drop_in
cat > $drop_in/processes.conf << END
[Service]
CapabilityBoundingSet=CAP_SYS_NICE CAP_SYS_PTRACE CAP_DAC_READ_SEARCH
BindReadOnlyPaths=/run/controllers:/sys/fs/cgroup/cgroup.controllers
END
systemctl daemon-reload
for number in $(seq 10); do
	systemd-run --quiet --unit="plain-$number" --uid=nobody guest-tool hold 16 c || fail "start of plain-$number"
done
plain_swapped() {
	for number in $(seq 10); do
		pid=$(systemctl show "plain-$number" --property MainPID --value)
		awk '$1 == "VmSwap:" { print $2 }' "/proc/$pid/status"
	done | awk '{ sum += $1 } END { print sum + 0 }'
}
expect "kB of theirs in swap before it starts" 0 "$(plain_swapped)"
expect_status 0 systemctl start swaptuned
tries=300
until [ "$(swaptune daemon status --json 2> /dev/null | grep -c '"probes": [1-9]')" = 1 ] || [ $tries -eq 0 ]; do
	sleep 1
	tries=$((tries - 1))
done
if [ $tries -gt 0 ]; then ok "idle processes have given memory"; else fail "no probe of a process in time"; fi
expect_status 0 swaptune daemon status
expect_line "it says that processes are asked" "by process_madvise" /run/last-output
# The probe may have been of another idle process, which such a system has few of: it goes on until one of these has given.
tries=60
until swapped=$(plain_swapped) && [ "$swapped" -ge 256 ] || [ $tries -eq 0 ]; do
	sleep 5
	tries=$((tries - 1))
done
if [ "$swapped" -ge 256 ]; then ok "the plain services gave $swapped kB"; else fail "the plain services gave $swapped kB"; fi
expect_status 0 systemctl stop swaptuned 'plain-*.service'
live_state > /run/live-after
expect_same "settings after the daemon" /run/live-before /run/live-after
rm -r $drop_in
systemctl daemon-reload
# zram upkeep within the service's bounds.
zram_upkeep() {
	modprobe zram num_devices=0
	zram=/sys/block/zram$(cat /sys/class/zram-control/hot_add)
	device=/dev/${zram##*/}
	echo N > $ZSWAP/enabled
	echo /dev/vdc > "$zram/backing_dev"
	echo 128M > "$zram/disksize"
	until_block "$device"
	mkswap "$device" > /dev/null
	swapon --priority 32767 "$device"
	for number in $(seq 4); do
		systemd-run --quiet --unit="zram-$number" guest-tool hold 8 c || fail "start of zram-$number"
	done
	sleep 5
	for number in $(seq 4); do echo 6M 2> /dev/null > "/sys/fs/cgroup/system.slice/zram-$number.service/memory.reclaim"; done
	echo "    $device: $(cat "$zram/mm_stat")"
	cat > /etc/swaptune/config.toml << END
[keep]
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
	limits="$(cat "$zram/writeback_limit") $(cat "$zram/writeback_limit_enable")"
	expect_status 0 systemctl start swaptuned
	tries=120
	until [ "$(awk '{ print $3 }' "$zram/bd_stat")" -gt 500 ] || [ $tries -eq 0 ]; do
		sleep 1
		tries=$((tries - 1))
	done
	if [ $tries -gt 0 ]; then ok "idle pages of zram are written back"; else fail "bd_stat: $(cat "$zram/bd_stat")"; fi
	expect_status 0 swaptune daemon status
	expect_status 0 systemctl stop swaptuned 'zram-*.service'
	expect "limit of write-back" "$limits" "$(cat "$zram/writeback_limit") $(cat "$zram/writeback_limit_enable")"
	swapoff "$device"
	# udev may still look at it.
	udevadm settle
	tries=50
	until echo "${device#/dev/zram}" > /sys/class/zram-control/hot_remove 2> /dev/null || [ $tries -eq 0 ]; do
		sleep 0.2
		tries=$((tries - 1))
	done
	echo Y > $ZSWAP/enabled
	cp /run/config-before /etc/swaptune/config.toml
}
until_block() {
	tries=50
	until [ -b "$1" ] || [ $tries -eq 0 ]; do
		sleep 0.2
		tries=$((tries - 1))
	done
}
zram_upkeep
live_state > /run/live-after
expect_same "settings after zram upkeep" /run/live-before /run/live-after
expect_status 0 systemctl start swaptuned
expect "restarts of it" 0 "$(running NRestarts)"

# Removal takes it back, and leaves the administrator's file; purge leaves nothing.
expect_status 0 env DEBIAN_FRONTEND=noninteractive dpkg --remove swaptune
expect "configuration after removal" /etc/swaptune/config.toml "$(ls /etc/swaptune/*)"
expect_status 0 env DEBIAN_FRONTEND=noninteractive dpkg --purge swaptune
expect "files after purge" "" "$(remains)"
expect "files of this boot after purge" "" "$(ls -d /run/swaptune 2> /dev/null)"
expect "processes after purge" "" "$(grep -l swaptune /proc/[0-9]*/comm 2> /dev/null)"
system_state > /run/after
expect_same "system after purge" /run/before /run/after

# As asked: what was applied stays.
install_package swaptune-2.deb
expect_status 0 swaptune apply --yes --set vm.swappiness=77
echo "swaptune swaptune/take-back boolean false" | debconf-set-selections
expect_status 0 env DEBIAN_FRONTEND=noninteractive dpkg --purge swaptune
expect "live value that was kept" 77 "$(cat /proc/sys/vm/swappiness)"
expect_line "file that was kept" "^vm.swappiness = 77\$" /etc/sysctl.d/99-zz-swaptune.conf
expect "program after purge" "" "$(ls /usr/bin/swaptune 2> /dev/null)"
finish
