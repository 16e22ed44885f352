#!/bin/busybox sh
# shellcheck shell=dash
# The first process of both guests; "end=near" or "end=far" on the kernel's command line.
/bin/busybox mkdir -p /bin
/bin/busybox --install -s /bin
export PATH=/bin:/framewire
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm
mount -t tmpfs shm /dev/shm
while read -r module; do insmod "/modules/$module" || echo "cannot load $module"; done </modules/order
end=$(sed 's/.*end=\([a-z]*\).*/\1/' /proc/cmdline)
[ "$end" = near ] && address=10.7.0.1 || address=10.7.0.2
ip link set lo up
ip addr add "$address/24" dev eth0
ip link set eth0 up
rdma link add rxe0 type rxe netdev eth0
ulimit -l unlimited
export FRAMEWIRE_TEST_PSK=/framewire/keys FRAMEWIRE_TEST_RDMA=rxe0:1 FRAMEWIRE_TEST_TCP=eth0
echo "guest $end is up after $(cut -d ' ' -f 1 /proc/uptime) s"
if sh "/framewire/$end.sh"; then echo "guest $end: passed"; else echo "guest $end: FAILED"; fi
poweroff -f
