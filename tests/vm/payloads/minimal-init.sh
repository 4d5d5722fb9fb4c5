#!/bin/busybox sh
# The first process of a minimal guest: set the world up, run /payload, power off.
export PATH=/usr/local/bin:/bin:/sbin:/usr/bin:/usr/sbin HOME=/root LC_ALL=C
/bin/busybox mkdir -p /proc /sys /dev /run /tmp /var/lib /mnt
/bin/busybox mount -t proc proc /proc
/bin/busybox --install -s
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs tmpfs /tmp
mount -t debugfs debugfs /sys/kernel/debug
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir -p /dev/pts /dev/shm
modprobe virtio_pci
modprobe virtio_blk
# The second serial port, or a virtio console where a machine has only one.
out=/dev/ttyS1
if [ "$(uname -m)" = aarch64 ]; then
	modprobe virtio_console
	out=/dev/hvc0
fi
# Messages of the kernel belong to the console; less of them keeps it quick.
echo 4 > /proc/sys/kernel/printk
read -r uptime _ < /proc/uptime
echo "@@START $uptime" > $out
/bin/busybox sh /payload < /dev/null > $out 2>&1
status=$?
read -r uptime _ < /proc/uptime
# The port may be busy for a moment.
tries=20
until echo "@@END $status $uptime" > $out || [ $tries -eq 0 ]; do
	sleep 0.5
	tries=$((tries - 1))
done
sync
poweroff -f
