
# The daemon under random faults: nothing is stuck, nothing is lost, and limits are always restored. /soak holds "SECONDS SEED"; the same
# seed draws the same faults. It ends with the first check that fails, and says then what is known.
read -r LENGTH SEED < /soak
STATE=/run/swaptune
FOLDERS="$STATE /var/lib/swaptune"
SERVICES="one two three four five six"
CONFIG=/run/soak.toml
HELPERS='[k]eep_canary|[t]emporary_guardian|[s]waptune-guard'
# As in a service: SIGHUP reads the configuration anew. Nobody listens there.
export NOTIFY_SOCKET=/run/nobody

seconds() { cut -d. -f1 /proc/uptime; }
service() { echo $SERVICES | cut -d' ' -f$(($1 % 6 + 1)); }

# All kinds in random order, then all again: a pause, a fault, and a number from 0 to 11 that the fault uses as it likes.
schedule() {
	awk -v seed="$SEED" -v lines=$((LENGTH / 8 + 1)) 'BEGIN {
		srand(seed)
		kinds = split("kill kill stuck canary stop group swap full full-kill clock hangup pause lock hog", kind)
		for (line = 0; line < lines; line++) {
			if (line % kinds == 0)
				for (i = kinds; i > 1; i--) { j = int(rand() * i) + 1; was = kind[i]; kind[i] = kind[j]; kind[j] = was }
			print int(rand() * 15) + 2, kind[line % kinds + 1], int(rand() * 12)
		}
	}'
}

# configure LIMIT: services are reclaimed, the pool is drained, and the limit moves or not, each as soon as may be: emulation is slow
configure() {
	cat > $CONFIG << END
[keep]
limit = $1
limit_raise_at_percent = 50
limit_step_percent = 1
limit_every_s = 1
limit_max_percent = 10
limit_lower_stall_us = 900000
pacing_start_percent = 50
pacing_target_percent = 30
pacing_pages = 100000
pacing_io_stall_us = 900000
pacing_budget = "1000G"
reclaim_idle_s = 5
reclaim_pause_s = 1
reclaim_probe_percent = 30
reclaim_stall_us = 500000
reclaim_refaults = 100000
reclaim_backoff_s = 5
END
}

# said KEY: a number of what the daemon wrote last; memory_of_daemon: kB in RAM, and kB of its own, in RAM or in swap
said() { cat $STATE/daemon.json 2> /dev/null | tr ',{' '\n\n' | sed -n "s/^\"$1\":\([0-9][0-9]*\).*/\1/p" | head -n 1; }
memory_of_daemon() { awk '{ of[$1] = $2 } END { print of["VmRSS:"], of["RssAnon:"] + of["VmSwap:"] }' /proc/$daemon/status; }

is_at_work() {
	swaptune daemon status --json > /run/status 2>&1 && grep -q '"mode": "working"' /run/status && [ "$(said unix_ms)" != "$seen" ]
}

# goes_on WHAT: from now on it looks again
goes_on() {
	seen=$(said unix_ms)
	until_true "$1: it is at work" 60 is_at_work
}

begin() {
	[ $failures = 0 ] || return
	start $CONFIG
	goes_on "started"
	born=$(seconds) first=$(memory_of_daemon)
}

# add_up: what the daemon that has just ended did, in one line, and added to the sums
add_up() {
	grown=$((${last#* } - ${first#* })) && [ $grown -le $most_grown ] || most_grown=$grown
	echo "    process $daemon, $(($(seconds) - born)) s: memory $first kB, then $last kB; $(said probes) probes, $(said bursts) bursts"
	grep -e failed -e swaptune: /run/daemon-said | sed 's/^/    /'
	probes=$((probes + $(said probes))) bursts=$((bursts + $(said bursts))) moves=$((moves + $(said moves)))
	written=$((written + $(said written) / 4096)) failed=$((failed + $(said failures)))
}

is_restored() {
	settings > /run/after
	cmp -s /run/before /run/after && ! ps | grep -Eq "$HELPERS" && [ -z "$(ls $STATE/scratch/journal)" ]
}

is_configured() { live_state > /run/after && cmp -s /run/live /run/after; }

# swap_out: what was verified goes back into the pool, more than half of the limit, so that the limit rises and bursts begin
swap_out() { for name in $SERVICES; do echo 16M 2> /dev/null > $APPS/$name/memory.reclaim; done; }

# await_burst SECONDS: until one has begun, or for that long at least
await_burst() {
	tries=$(($1 * 50))
	while [ "$(cat $ZSWAP/accept_threshold_percent)" = "$ACCEPT" ] && [ $tries -gt 0 ]; do
		usleep 20000
		tries=$((tries - 1))
		[ $((tries % 300)) != 0 ] || swap_out
	done
}

# killed NUMBER: in a burst, if one begins in time; all is put back although no daemon is there
killed() {
	await_burst "$1"
	last=$(memory_of_daemon)
	kill -9 $daemon
	accept=$(cat $ZSWAP/accept_threshold_percent)
	echo "    killed with the limits at $(cat $ZSWAP/max_pool_percent) % and $accept %"
	[ "$accept" = "$ACCEPT" ] || in_bursts=$((in_bursts + 1))
	wait $daemon 2> /dev/null
	until_true "killed: all is put back" 60 is_restored
	add_up
}

# stuck NUMBER: stopped in a burst, where its guardian kills it; one that is in none goes on after a moment
stuck() {
	swap_out
	await_burst 30
	last=$(memory_of_daemon)
	kill -STOP $daemon
	usleep 100000
	if [ "$(cat $ZSWAP/accept_threshold_percent)" = "$ACCEPT" ]; then
		sleep "$1"
		kill -CONT $daemon
		return
	fi
	stops=$((stops + 1))
	until_true "stopped in a burst: all is put back" 120 is_restored
	expect_line "its guardian says why" "did not end in time" /run/daemon-said
	kill -9 $daemon 2> /dev/null
	wait $daemon 2> /dev/null
	add_up
	begin
}

# fill: the folders have no room, and whatever comes free is taken by another program; make_room ends it
fill() {
	while usleep 10000; do for folder in $FOLDERS; do dd if=/dev/zero bs=4k >> $folder/filler 2> /dev/null; done; done &
	filler=$!
	sleep 2
}
make_room() {
	kill $filler && wait $filler 2> /dev/null
	for folder in $FOLDERS; do rm $folder/filler; done
}

# hang_up NUMBER: another configuration, and each third time one that cannot be used
hang_up() {
	lines=$(grep -c '^configuration:' /run/daemon-said)
	case $(($1 % 3)) in 0) echo nonsense > $CONFIG ;; 1) configure false ;; 2) configure true ;; esac
	kill -HUP $daemon
	has_read() { [ "$(grep -c '^configuration:' /run/daemon-said)" -gt "$lines" ]; }
	until_true "hung up: it has read its configuration" 60 has_read
	grep -q nonsense $CONFIG && configure true
}

# fault KIND NUMBER
fault() {
	case $1 in
	kill) killed "$2"; begin ;;
	stuck) stuck "$2" ;;
	stop) kill -STOP $daemon && sleep "$2" && kill -CONT $daemon ;;
	group) end_service "$(service "$2")" && hold "$(service "$2")" ;;
	canary) ps | awk '/[k]eep_canary/ { print $1 }' | xargs -r kill -9 ;;
	swap) guest-tool swapoff /dev/vda && sleep "$2" && guest-tool swapon 10 /dev/vda || fail "swap off and on" ;;
	full) fill; sleep "$2"; make_room ;;
	full-kill) fill; killed "$2"; make_room; begin ;;
	clock) date -s @$(($(date +%s) + ($2 * 2 - 11) * 5003)) > /dev/null ;;
	hangup) hang_up "$2" ;;
	pause)
		quiet_status 0 swaptune daemon pause
		until_true "paused: all is as configured" 60 is_configured
		quiet_status 0 swaptune daemon resume
		;;
	lock)
		quiet_status 0 swaptune apply --now --yes --set vm.swappiness=77
		quiet_status 0 swaptune rollback --yes
		;;
	hog) hold hog 256 && sleep "$2" && end_service hog ;;
	esac
}

set_up
echo 8 > $ZSWAP/max_pool_percent
ACCEPT=$(cat $ZSWAP/accept_threshold_percent)
for folder in $FOLDERS; do mkdir -p $folder && mount -t tmpfs -o size=2M,mode=755 none $folder; done
mkdir -p $STATE/scratch/journal
for name in $SERVICES; do hold "$name"; done
configure true
settings > /run/before
live_state > /run/live
schedule > /run/schedule
echo "=== $LENGTH s with seed $SEED: pause, fault, number"
paste -s -d';' /run/schedule | fold -w 150
faults=0 in_bursts=0 stops=0 probes=0 bursts=0 moves=0 written=0 failed=0 most_grown=0
end=$(($(seconds) + LENGTH))
begin
while read -r pause kind number <&3 && [ "$(seconds)" -lt $end ] && [ $failures = 0 ]; do
	sleep "$pause"
	swap_out
	faults=$((faults + 1))
	echo "=== $faults: $kind $number, up $(seconds) s"
	echo "$kind" >> /run/kinds
	fault "$kind" "$number"
	[ $failures = 0 ] || break
	goes_on "$kind"
	verify "$(service $faults)"
	verify "$(service $((faults + 3)))"
done 3< /run/schedule

echo "=== the end"
if [ $failures != 0 ]; then
	diff /run/before /run/after
	ps | grep -E "swaptune|$HELPERS"
	ls -lR $FOLDERS
	tail -n 20 /run/daemon-said
	finish
fi
last=$(memory_of_daemon)
stop_daemon
add_up
for name in $SERVICES; do verify "$name"; done
sort /run/kinds | uniq -c
echo "faults $faults, kills in a burst $in_bursts, stops in one that the guardian ended $stops; probes $probes, bursts $bursts, moves of the limit $moves," \
	"pages drained to the disk $written, failures told $failed"
for count in probes bursts moves; do if [ $((count)) -gt 0 ]; then ok "$count"; else fail "no $count"; fi; done
if [ $most_grown -le 1024 ]; then ok "no daemon grew by more than $most_grown kB"; else fail "a daemon grew by $most_grown kB"; fi
finish
