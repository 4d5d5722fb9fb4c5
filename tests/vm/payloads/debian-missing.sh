
# A disk that the configuration calls optional is gone: the system comes up without it.
expect "disk" gone "$([ -b /dev/vdc ] && echo there || echo gone)"
# Some states are reached only after the wait for the device has run out.
system=$(systemctl is-system-running --wait)
[ "$system" = running ] && ok "system: running" || {
	fail "system: $system"
	systemctl --no-pager --failed
}
expect "login" active "$(systemctl is-active serial-getty@ttyS0.service)"
expect "swap target" active "$(systemctl is-active swap.target)"
expect "service" active "$(systemctl is-active swaptune)"
expect "zswap" Y "$(cat $ZSWAP/enabled)"
expect "areas with priority 10" 2 "$(awk 'NR > 1 && $5 == 10' /proc/swaps | wc -l)"
# The system is as it should be but for the disk, and that has to be said.
expect_status 1 swaptune verify
expect_line "verify names the missing disk" "missing-device" /run/last-output
finish
