#!/bin/sh
# Process 1 of new namespaces: a systemd of its own over the machine's files, none of which it can change. Run by e2e/tools/systemd.ts.
#
#   unshare --mount --pid ... --fork sh systemd.sh FOLDER      FOLDER/root is what it sees
set -eu
folder=$1
mount --make-rprivate /
mount -t tmpfs none "$folder"
mkdir "$folder/upper" "$folder/work" "$folder/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" "$folder/root"
cd "$folder/root"

# None of the machine's own services.
rm -rf etc/systemd/system
mkdir -p etc/systemd/system
printf '[Unit]\nDescription=Nothing\n' > etc/systemd/system/nothing.target

mount -t proc proc proc
# Read-only, so that it leaves devices alone.
mount -t sysfs -o ro sysfs sys
mount -t tmpfs none sys/fs/cgroup
mkdir sys/fs/cgroup/systemd sys/fs/cgroup/unified
mount -t cgroup -o none,name=systemd cgroup sys/fs/cgroup/systemd
mount -t cgroup2 cgroup2 sys/fs/cgroup/unified
mount -t tmpfs none dev
mkdir dev/pts dev/shm
for name in null zero full random urandom tty; do
  touch "dev/$name"
  mount --bind "/dev/$name" "dev/$name"
done
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t tmpfs none run
mount -t tmpfs none tmp
exec env -i container=trial PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
  chroot . /lib/systemd/systemd --unit=nothing.target --log-target=console --show-status=0
