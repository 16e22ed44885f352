#!/usr/bin/env bash
# run.sh PACKAGES SAMPLE: installs the Debian packages in a virtual machine with systemd, and has it
# start, reload, watch and end the service; inside.sh does it. Exit status 77: there can be no such
# machine here, and why.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
packages=$(realpath "$1")
sample=$(realpath "$2")
mirror=${FRAMEWIRE_MIRROR:-http://deb.debian.org/debian}
limit_s=${FRAMEWIRE_SYSTEMD_LIMIT_S:-600}

skip() {
  echo "SKIPPED: $*"
  exit 77
}
[ "$(. /etc/os-release && echo "$ID")" = debian ] || skip "the machine is made of Debian's packages"
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
[ "$(id -u)" = 0 ] || skip "debootstrap needs root"
for tool in debootstrap mke2fs qemu-system-x86_64; do
  command -v "$tool" >/dev/null || skip "no $tool here"
done

work=$(mktemp -d)
chmod 755 "$work"
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root

echo "a fresh $codename with systemd from $mirror"
depends=$(for deb in "$packages"/libframewire[0-9]*.deb "$packages"/framewire_*.deb; do
  dpkg-deb -f "$deb" Depends
done | tr , '\n' | sed 's/[(|].*//; s/ //g' | grep -v framewire | sort -u | paste -sd,)
debootstrap --variant=minbase \
  --include="systemd-sysv,dbus,curl,kmod,linux-image-cloud-amd64,initramfs-tools,$depends" \
  "$codename" "$root" "$mirror" >"$packages/debootstrap.log" 2>&1 || {
  tail -5 "$packages/debootstrap.log"
  skip "debootstrap failed"
}
mkdir -p "$root/packages" "$root/srv/photos"
cp "$packages"/libframewire[0-9]*.deb "$packages"/framewire_*.deb "$root/packages/"
chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
  sh -c 'dpkg -i /packages/*.deb' >"$packages/install.log" 2>&1 || {
  cat "$packages/install.log"
  echo "FAILED: the packages do not install"
  exit 1
}
install -m 0644 "$sample" "$root/srv/photos/a.jpg"
install -m 0755 "$here/inside.sh" "$root/usr/local/sbin/try-service"
cat >"$root/etc/systemd/system/try-service.service" <<'UNIT'
[Unit]
Description=Tries the service
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/usr/local/sbin/try-service
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
ExecStopPost=/bin/systemctl --no-block poweroff
[Install]
WantedBy=multi-user.target
UNIT
# Its own getty would share the terminal.
ln -s /etc/systemd/system/try-service.service \
  "$root/etc/systemd/system/multi-user.target.wants/try-service.service"
ln -sf /dev/null "$root/etc/systemd/system/serial-getty@ttyS0.service"
echo "/dev/vda / ext4 defaults 0 1" >"$root/etc/fstab"
mke2fs -q -t ext4 -d "$root" "$work/disk" 3G

# Emulated, not accelerated: it is the same everywhere, and needs no rights. A processor without AVX
# is the fastest to emulate.
echo "a virtual machine"
timeout "$limit_s" qemu-system-x86_64 -machine q35 -accel tcg,thread=multi -smp 2 -m 1024 -nodefaults \
  -no-reboot -display none -cpu Nehalem -kernel "$root"/boot/vmlinuz-* -initrd "$root"/boot/initrd.img-* \
  -append "root=/dev/vda rw console=ttyS0 quiet panic=-1 mitigations=off systemd.show_status=no" \
  -drive "file=$work/disk,if=virtio,format=raw" -serial stdio </dev/null 2>&1 |
  stdbuf -oL tr -d '\r' | tee "$packages/systemd.log" || true
grep -q "^service: passed" "$packages/systemd.log" || {
  echo "FAILED: see $packages/systemd.log"
  exit 1
}
