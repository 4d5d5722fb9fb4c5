
# The first boot of a new image: everything that a first boot changes, changes now.
systemctl is-system-running --wait
systemctl --no-pager --failed
expect "failed units" 0 "$(systemctl --no-legend --failed | wc -l)"
expect_status 0 update-grub
expect_line "GRUB boots by UUID" "root=UUID=" /boot/grub/grub.cfg
expect "swap areas" 2 "$(awk 'NR > 1 && $5 == 10' /proc/swaps | wc -l)"
finish
