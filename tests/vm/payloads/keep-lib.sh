
# What the scripts of the daemon share: groups with known pages, a daemon that is started and stopped, and what must be as before.
for module in lz4 zstd; do modprobe $module 2> /dev/null; done
CGROUPS=/sys/fs/cgroup
APPS=$CGROUPS/apps
MIB=24

meminfo() { awk -v key="$1:" '$1 == key { print $2 }' /proc/meminfo; }

# hold GROUP [MIB]: a service of guest-tool in a group of its own
hold() {
	mkdir -p "$APPS/$1"
	: > "/run/$1"
	(
		echo 0 > "$APPS/$1/cgroup.procs"
		exec guest-tool hold "${2:-$MIB}" c > "/run/$1"
	) &
	eval "pid_$1=$!"
	until grep -q ready "/run/$1"; do sleep 0.2; done
}

# end_service GROUP: it is killed, and its group deleted
end_service() {
	eval "pid=\$pid_$1"
	kill -9 "$pid"
	wait "$pid" 2> /dev/null
	rmdir $APPS/"$1" || fail "rmdir $1"
}

# verify GROUP: each of its pages is what was written
verify() {
	: > "/run/$1"
	eval "kill -USR1 \$pid_$1"
	tries=600
	until grep -q verified "/run/$1" || [ $tries -eq 0 ]; do
		sleep 0.2
		tries=$((tries - 1))
	done
	expect_line "$1: every page is as written" verified "/run/$1"
}

# memory GROUP, plain GROUP: MiB that it has in RAM, with and without its part of the pool
memory() { echo $(($(cat "$APPS/$1/memory.current") >> 20)); }
plain() { echo $((($(cat "$APPS/$1/memory.current") - $(cat "$APPS/$1/memory.zswap.current")) >> 20)); }

# until_true WHAT SECONDS COMMAND...
until_true() {
	what=$1 tries=$(($2 * 2))
	shift 2
	while ! "$@" && [ $tries -gt 0 ]; do
		sleep 0.5
		tries=$((tries - 1))
	done
	if [ $tries -gt 0 ]; then ok "$what"; else
		fail "$what: not in time"
		swaptune daemon status | sed 's/^/    /'
	fi
}

settings() {
	live_state
	find $CGROUPS -type d | sort
	cat $CGROUPS/cgroup.subtree_control
}

start() {
	swaptune daemon --config "$1" 2> /run/daemon-said &
	daemon=$!
}

# stop_daemon: asked politely, it ends and leaves everything as it was
stop_daemon() {
	kill $daemon
	wait $daemon
	expect "exit status of the daemon" 0 $?
	sed 's/^/    /' /run/daemon-said
	settings > /run/after
	expect_same "settings after the daemon" /run/before /run/after
}

# set_up: one swap disk that does not spin behind zswap with lz4, and a group for groups
set_up() {
	swap_disk
	zswap_on 20 N
	group_of_groups
}
