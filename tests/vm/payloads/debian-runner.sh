#!/bin/sh
# Started by guest-test.service: unpack the payload of this boot, run it, power off.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C
exec < /dev/null > /dev/ttyS1 2>&1
read -r uptime _ < /proc/uptime
echo "@@START $uptime"
mkdir -p /run/payload
cd /run/payload || exit 1
tar -xf /dev/vdb
sh run.sh
status=$?
read -r uptime _ < /proc/uptime
echo "@@END $status $uptime"
sync
systemctl poweroff --no-block
