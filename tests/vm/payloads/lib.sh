#!/bin/sh
# Shared by all payloads; see payload.rs.

failures=0
ZSWAP=/sys/module/zswap/parameters

ok() { echo "ok $*"; }

fail() {
	echo "FAIL $*"
	failures=$((failures + 1))
}

# expect WHAT WANTED FOUND
expect() {
	if [ "$2" = "$3" ]; then ok "$1: $2"; else fail "$1: wanted '$2', found '$3'"; fi
}

# expect_line WHAT PATTERN FILE: a line of the file matches the basic regular expression, in any case
expect_line() {
	if grep -qi -e "$2" "$3"; then ok "$1"; else
		fail "$1: no line matches '$2' in:"
		sed 's/^/    /' "$3"
	fi
}

# expect_status WANTED COMMAND...: runs it, shows its output, compares its exit status
expect_status() {
	wanted=$1
	shift
	echo "\$ $*"
	"$@" > /run/last-output 2>&1
	got=$?
	sed 's/^/    /' /run/last-output
	expect "exit status of $*" "$wanted" "$got"
}

# quiet_status WANTED COMMAND...: the same, but shows the output only when the status is wrong
quiet_status() {
	wanted=$1
	shift
	"$@" > /run/last-output 2>&1
	got=$?
	[ "$wanted" = "$got" ] || sed 's/^/    /' /run/last-output
	expect "exit status of $*" "$wanted" "$got"
}

# expect_same WHAT BEFORE AFTER: two files are equal
expect_same() {
	if cmp -s "$2" "$3"; then ok "$1: as before"; else
		fail "$1: changed"
		diff "$2" "$3" | sed 's/^/    /'
	fi
}

# expect_file WHAT WANTED FOUND: a file is, byte for byte, what it should be
expect_file() {
	if cmp -s "$2" "$3"; then ok "$1"; else
		fail "$1: not as wanted"
		diff "$2" "$3" | sed 's/^/    /'
	fi
}

# set_parameter FILE VALUE: write, then say what the write and the read back gave
set_parameter() {
	if echo "$2" 2> /dev/null > "$1"; then written=taken; else written=refused; fi
	echo "$written $(cat "$1")"
}

# counter FILE KEY: one value of a "key value" file, 0 when it is absent
counter() {
	awk -v key="$2" '$1 == key || $1 == key ":" { found = $2 } END { print found + 0 }' "$1"
}

# bring_out NAME FOLDER: hand a folder to the host, see outcome.rs
bring_out() {
	echo "@@FILE $1"
	tar -cf - -C "$2" . | gzip | base64
	echo "@@ENDFILE"
}

# The payload's last line: its exit status says whether any check failed.
finish() {
	echo "checks failed: $failures"
	[ "$failures" -eq 0 ]
	exit $?
}

# swap_round LABEL KIND [GROUP]: 48 MB of pages in a cgroup of their own; 32 of them are pushed
# out and must come back whole. Says how many pages zswap took.
swap_round() {
	group=/sys/fs/cgroup/round
	mkdir -p $group
	# Emptied here: what the last round's holder said must not be taken for this one's.
	: > /run/holder
	(
		echo 0 > $group/cgroup.procs
		exec guest-tool hold 48 "$2" > /run/holder
	) &
	holder=$!
	wait_for ready || return
	before=$(counter /proc/vmstat zswpout)
	# A single write may fall short of its wish, so in steps.
	for _ in 1 2 3 4; do
		echo 8M 2> /dev/null > $group/memory.reclaim
	done
	stored=$(($(counter /proc/vmstat zswpout) - before))
	page=$(awk '$1 == "KernelPageSize:" { print $2; exit }' /proc/self/smaps)
	if [ $((stored * page)) -ge 16000 ]; then ok "$1: pages went into zswap"; else
		fail "$1: only $stored pages went into zswap"
	fi
	kill -USR1 $holder
	wait_for verified && ok "$1: every page came back whole"
	kill $holder
	wait $holder 2> /dev/null
	rmdir $group
}

# wait_for WORD: the holder says it, or ends
wait_for() {
	while ! grep -q "$1" /run/holder; do
		kill -0 $holder 2> /dev/null || {
			fail "the holder ended before '$1'"
			return 1
		}
		sleep 0.2
	done
}

# live_state: everything alive that swaptune may touch, one "path value" per line
live_state() {
	for file in $ZSWAP/* /proc/sys/vm/* /sys/kernel/mm/lru_gen/enabled \
		/sys/kernel/mm/lru_gen/min_ttl_ms /sys/kernel/mm/swap/* \
		/sys/kernel/mm/transparent_hugepage/* \
		/sys/kernel/mm/transparent_hugepage/khugepaged/* \
		/sys/kernel/mm/transparent_hugepage/hugepages-*/* \
		/sys/block/*/queue/rotational /sys/block/*/queue/scheduler \
		/sys/block/*/queue/read_ahead_kb /sys/block/zram*/disksize \
		/sys/block/zram*/comp_algorithm; do
		case $file in
		# Counters and one-way triggers, no settings.
		*/stat_refresh | */compact_memory | */drop_caches | */pages_collapsed | \
			*/full_scans | */stats) continue ;;
		# Worked out from the memory that was free at boot, so no two boots agree.
		*/user_reserve_kbytes | */admin_reserve_kbytes) continue ;;
		esac
		[ -f "$file" ] && [ -r "$file" ] && echo "$file $(cat "$file" 2> /dev/null)"
	done
	# What comes and goes under /run, and the pipe numbers of autofs, are systemd's own. The sizes of tmpfs and devtmpfs are halves of a
	# memory that differs by a page or two from boot to boot, and tmpfs names its only where it is not half of it to the page.
	awk '$3 != "autofs" && $2 !~ "^/run/" {
		if ($3 ~ /tmpfs$/) gsub(/,(size|nr_inodes)=[0-9]+k?/, "", $4)
		print "mount", $0
	}' /proc/mounts | sort
	# Columns are padded with a mix of blanks; the use is no setting.
	awk 'NR > 1 { print "swap", $1, $2, $3, $5 }' /proc/swaps | sort
}

# file_state: every file that swaptune may write, with content, mode and owner
file_state() {
	places="/etc /boot"
	[ -d /efi ] && places="$places /efi"
	find $places ! -type f ! -type l -exec stat -c '%n %F %a %u:%g' {} + | sort
	find $places -type l -exec stat -c '%N' {} + | sort
	find $places -type f -exec stat -c '%n %a %u:%g' {} + | sort
	# systemd-boot writes a new seed at each boot.
	find $places -type f ! -path /efi/loader/random-seed -exec sha256sum {} + | sort -k 2
	for folder in /root /usr/local /usr/lib/systemd /usr/lib/tmpfiles.d /usr/lib/sysctl.d \
		/usr/lib/modules-load.d /usr/lib/udev/rules.d /usr/share/initramfs-tools; do
		[ -d $folder ] && find $folder ! -name swaptune ! -type d -exec stat -c '%N %s %a' {} + | sort
	done
}

# swap_disk: the first disk is swap, and does not spin
swap_disk() {
	echo 0 > /sys/block/vda/queue/rotational
	mkswap /dev/vda > /dev/null
	guest-tool swapon 10 /dev/vda || fail "swapon"
}

# zswap_on LIMIT SHRINKER: zswap with lz4
zswap_on() {
	echo lz4 > $ZSWAP/compressor
	echo "$1" > $ZSWAP/max_pool_percent
	echo "$2" > $ZSWAP/shrinker_enabled
	echo Y > $ZSWAP/enabled
}

# group_of_groups: where each service gets a group of its own, as a service manager makes it
group_of_groups() {
	echo +memory > /sys/fs/cgroup/cgroup.subtree_control
	mkdir /sys/fs/cgroup/apps
	echo +memory > /sys/fs/cgroup/apps/cgroup.subtree_control
}
