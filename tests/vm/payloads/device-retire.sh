
# All of them are back: on again without a hand, then taken out; then the package goes, and everything is as before the first boot.
STORE=/var/lib/guest-test
expect "system" running "$(systemctl is-system-running --wait)"
for _ in 1 2 3 4 5 6; do
	[ "$(wc -l < /proc/swaps)" = 6 ] && break
	sleep 10
done
expect "areas" "10 10 100 80 90" "$(awk 'NR > 1 { print $5 }' /proc/swaps | sort | xargs)"
expect "zswap" "Y zstd" "$(cat $ZSWAP/enabled) $(cat $ZSWAP/compressor)"
expect_status 0 swaptune verify --prove
expect_line "pages went through zswap" "as planned: .*zswap" /run/last-output
volume=$(sed -n 's/ .*luks.*//p' /etc/crypttab)
partition=$(cryptsetup status "$volume" | sed -n 's/^ *device: *//p')
for disk in /dev/vdc /dev/vdd /dev/vde; do
	expect_status 0 swaptune device retire $disk --yes
done
cat /etc/fstab /etc/crypttab
expect "a volume on $partition" no "$(cryptsetup isLuks "$partition" && echo yes || echo no)"
expect "keys" "" "$(ls /etc/swaptune/keys 2> /dev/null)"
expect_status 3 swaptune rollback "$(swaptune history | awk '/device retire/ { id = $1 } END { print id }')" --yes
sync
file_state > /run/files
expect_same "files after retire" $STORE/files-applied /run/files
live_state > /run/live
expect_same "live state after retire" $STORE/live-applied /run/live
expect_status 0 swaptune verify
purge_package
expect "partitions of the disks" "" "$(lsblk -nro NAME,TYPE /dev/vdc /dev/vdd /dev/vde | grep part)"
finish
