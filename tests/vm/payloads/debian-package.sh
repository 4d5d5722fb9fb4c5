
# The package from installation to purge: upgraded with its work in effect, removed with that taken back, and kept where asked.
systemctl is-system-running --wait
system_state() {
	file_state
	live_state
}
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

# Removal takes it back, and leaves the administrator's file; purge leaves nothing.
expect_status 0 env DEBIAN_FRONTEND=noninteractive dpkg --remove swaptune
expect "configuration after removal" /etc/swaptune/config.toml "$(ls /etc/swaptune/*)"
expect_status 0 env DEBIAN_FRONTEND=noninteractive dpkg --purge swaptune
expect "files after purge" "" "$(remains)"
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
