
# First boot with three blank disks: the package, zstd for now and for every boot, then the disks become swap, one with a random key, one as a LUKS volume, one in clear text.
STORE=/var/lib/guest-test
mkdir -p $STORE
systemctl is-system-running --wait
sync
file_state > $STORE/files
live_state > $STORE/live
expect_status 0 env DEBIAN_FRONTEND=noninteractive dpkg --install swaptune-1.deb
mkdir -p /etc/swaptune
cp config.toml /etc/swaptune/config.toml
expect_status 0 swaptune apply --yes
sed -n 's/^GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT \(.*\)"$/\1/p' /etc/default/grub.d/99-swaptune.cfg > $STORE/words
expect_line "words for the kernel" "^zswap.enabled=1 " $STORE/words
sync
file_state > $STORE/files-applied
live_state > $STORE/live-applied

# Shown first, and nothing is changed by that.
expect_status 0 swaptune device plan /dev/vdc --encrypt random --optional
expect_line "the plan says what XTS lacks" "no integrity" /run/last-output
file_state > /run/files
expect_same "files after device plan" $STORE/files-applied /run/files
# What carries anything is refused, and so is what is in use, whatever is typed.
echo "something that is needed" > /dev/vdc
expect_status 3 swaptune device prepare /dev/vdc --yes
expect_line "it says what it found" "data without a known signature" /run/last-output
expect_status 3 swaptune device prepare /dev/vda --wipe --yes
expect_line "it says what uses the disk" "mounted at" /run/last-output

expect_status 0 swaptune device prepare /dev/vdc --encrypt random --optional --priority 100 --wipe --yes
lasting() {
	ls -d /etc/fstab /etc/crypttab /etc/swaptune/config.toml /etc/swaptune/applied.toml /etc/systemd/system/*.device.wants/* 2> /dev/null
}
lasting > $STORE/lasting
xargs tar -C / -cPf $STORE/lasting.tar < $STORE/lasting
expect_status 0 swaptune device prepare /dev/vdd --encrypt luks --optional --priority 90 --yes
# As if that volume had been made and opened by hand: no line has it, and it is taken in with a key that opens it and no other.
volume=$(sed -n 's/ .*luks.*//p' /etc/crypttab)
cp /etc/crypttab $STORE/crypttab
lasting | grep -vxFf $STORE/lasting | xargs rm
tar -C / -xPf $STORE/lasting.tar
expect "lines of the volume" 0 "$(cat /etc/fstab /etc/crypttab | grep -c "$volume")"
expect_status 3 swaptune device adopt "/dev/mapper/$volume" --optional --priority 90 --yes
expect_line "it says what to type" "adopt /dev/mapper/$volume --key-file FILE" /run/last-output
(umask 077 && echo wrong > /root/wrong.key)
expect_status 3 swaptune device adopt "/dev/mapper/$volume" --key-file /root/wrong.key --optional --priority 90 --yes
expect_line "the key was tried" "it does not open /dev/vdd1" /run/last-output
rm /root/wrong.key
expect_status 0 swaptune device adopt "/dev/mapper/$volume" --key-file /etc/swaptune/keys/"$volume".key --optional --priority 90 --yes
expect_same "crypttab as prepare wrote it" $STORE/crypttab /etc/crypttab
expect_status 0 swaptune device prepare /dev/vde --swap 60% --rest cache --encrypt none --optional --priority 80 --yes
cat /etc/fstab /etc/crypttab
lsblk -o NAME,SIZE,TYPE,PARTLABEL,PARTUUID
expect "areas" "10 10 100 80 90" "$(awk 'NR > 1 { print $5 }' /proc/swaps | sort | xargs)"
expect "mappings" "plain luks2" "$(for name in $(sed 's/ .*//' /etc/crypttab); do cryptsetup status "$name" | sed -n 's/^ *type: *//p' | tr A-Z a-z; done | xargs)"
expect "names of the partitions" "swaptune-cache swaptune-swap swaptune-swap swaptune-swap" "$(lsblk -nro PARTLABEL /dev/vdc /dev/vdd /dev/vde | grep . | sort | xargs)"
expect "mode of the key" "600 root 64" "$(stat -c '%a %U %s' /etc/swaptune/keys/*.key)"
hex() { od -An -v -tx1 "$1" | tr -d ' \n'; }
key=$(hex /etc/swaptune/keys/*.key)
expect "digits of the key" 128 ${#key}
find /var/lib/swaptune -type f | while read -r file; do
	hex "$file" | grep -q "$key" && echo "$file"
done > /run/leaks
expect "files of the journal with the key" "" "$(cat /run/leaks)"
udevadm settle
expect_status 0 swaptune plan
expect_line "nothing is left to do" "^Nothing to do" /run/last-output
expect_status 0 swaptune verify --prove
for unit in $(systemctl list-units --all --plain --no-legend --type swap | awk '{ print $1 }') swaptune.service; do
	systemd-analyze verify --man=no "$unit" 2>&1
done | grep -iE 'cycle|error|invalid|unknown' > /run/analysed
expect "what systemd-analyze finds" "" "$(cat /run/analysed)"

# Memory full of one text goes out to all of them, past zswap: more than any two hold.
echo N > $ZSWAP/enabled
first=canary-of
group=/sys/fs/cgroup/canary
mkdir $group
(
	echo 0 > $group/cgroup.procs
	yes "$first-swap-0123456789" | head -c 260M > /dev/shm/text
)
for _ in 1 2 3 4 5 6 7 8; do
	echo 32M 2> /dev/null > $group/memory.reclaim
done
cat /proc/swaps
expect "encrypted and clear areas in use" 3 "$(awk 'NR > 1 && $5 > 10 && $4 > 20000' /proc/swaps | wc -l)"
sync
finish
