#!/usr/bin/env bash
# Start Debian's systemd in a folder, in namespaces and a control group of its own: boot.sh ROOT GROUP
#
# /proc/sys and /sys are read-only, and the rights to load modules, set the clock or reboot are dropped,
# so that the machine cannot change the one that it runs on.
set -euo pipefail
root=$1
echo $$ >"$2/cgroup.procs"
echo booting >"$root/.first"
exec unshare --fork --kill-child --pid --mount --uts --ipc --net --cgroup --propagation private -- bash -c '
set -euo pipefail
mount --bind "$1" "$1"
cd "$1"
mount -t proc proc proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs dev
for name in null zero full random urandom tty; do
    touch "dev/$name"
    mount --bind "/dev/$name" "dev/$name"
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts dev/pts
mount -t tmpfs tmpfs dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=1777 tmpfs tmp
hostname nacre-debian
mkdir -p .old
pivot_root . .old
umount -l /.old
rmdir /.old
drop=-sys_module,-sys_time,-sys_boot,-sys_rawio,-mknod
exec env -i container=other LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    setpriv --bounding-set "$drop" --inh-caps -all /lib/systemd/systemd
' boot "$root"
