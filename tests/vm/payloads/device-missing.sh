
# The disk with the random key is gone, the header of the volume is damaged: the boot goes on without either.
for _ in $(seq 30); do
	systemctl is-active --quiet serial-getty@ttyS0.service && break
	sleep 2
done
expect "login" active "$(systemctl is-active serial-getty@ttyS0.service)"
expect "swap target" active "$(systemctl is-active swap.target)"
expect "ordering cycles" "" "$(journalctl --no-pager -b | grep -i 'ordering cycle')"
# Some states are reached only after the wait for the device has run out.
echo "system: $(systemctl is-system-running --wait)"
for name in $(sed 's/ .*//' /etc/crypttab); do
	device=$(systemd-escape -p --suffix device "/dev/mapper/$name")
	echo "$name: $(systemctl show --value -p JobRunningTimeoutUSec "$device")"
	expect "wait for $name" 10s "$(systemctl show --value -p JobRunningTimeoutUSec "$device")"
done
systemctl --no-pager --no-legend --failed > /run/failed
expect "failed units but for the mappings and their areas" "" "$(grep -v 'systemd-cryptsetup@\|dev-mapper\|cryptsetup' /run/failed)"
# What appears after the time-out comes up then.
for _ in 1 2 3 4 5 6; do
	grep -q 80$ /proc/swaps && break
	sleep 10
done
expect "areas" "10 10 80" "$(awk 'NR > 1 { print $5 }' /proc/swaps | sort | xargs)"
systemd-analyze blame --no-pager | head -5
# Through the loader, and then by the service, since zstd is a module here.
expect_line "the kernel was given our words" " quiet $(cat /var/lib/guest-test/words)\( \|\$\)" /proc/cmdline
expect "zswap" "Y zstd" "$(cat $ZSWAP/enabled) $(cat $ZSWAP/compressor)"
expect_status 0 swaptune verify --prove
expect_line "pages went through zswap" "as planned: .*zswap" /run/last-output
expect_line "what is missing is worth knowing" "fstab-optional-missing" /run/last-output
finish
