
# The first boot of a new image: everything that a first boot changes, changes now.
systemctl is-system-running --wait
systemctl --no-pager --failed
expect "failed units" 0 "$(systemctl --no-legend --failed | wc -l)"
if [ -d /efi/loader ]; then
	expect_status 0 kernel-install add "$(uname -r)" "/boot/vmlinuz-$(uname -r)"
	expect_line "systemd-boot boots by UUID" "^options .*root=UUID=" /efi/loader/entries/*"$(uname -r)".conf
else
	expect_status 0 update-grub
	expect_line "GRUB boots by UUID" "root=UUID=" /boot/grub/grub.cfg
fi
expect "swap areas" 2 "$(awk 'NR > 1 && $5 == 10' /proc/swaps | wc -l)"
finish
