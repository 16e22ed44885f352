#!/usr/bin/env bash
# Makes kernel and initramfs of the guests: a stock Debian kernel with soft-RoCE, busybox, and the
# given programs with the libraries that they load.
#   make_guest.sh WORK_DIR PROGRAM…      writes WORK_DIR/vmlinuz and WORK_DIR/initramfs
# Exits with 77, and says why, where something that it needs cannot be had.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
work=$1
shift

skip() {
  printf 'SKIPPED: %s\n' "$*" >&2
  exit 77
}

# Cloud kernels have no rdma_rxe. The newest package that the archive has is fetched once.
fetch_kernel() {
  local package
  [ -e "$work/kernel.deb" ] && return
  package=$(apt-cache depends linux-image-amd64 2>/dev/null |
    sed -n 's/ *Depends: \(linux-image-[0-9].*-amd64\)$/\1/p' | head -1)
  [ -n "$package" ] || skip "no Debian package linux-image-amd64 to be had here"
  mkdir -p "$work/fetch"
  (cd "$work/fetch" && apt-get download -q "$package") >"$work/fetch.log" 2>&1 ||
    skip "cannot download $package: $(tail -1 "$work/fetch.log")"
  mv "$work/fetch/$package"*.deb "$work/kernel.deb"
}

unpack_kernel() {
  [ -e "$work/vmlinuz" ] && return
  local folder=./lib/modules/\*
  rm -rf "$work/kernel"
  mkdir -p "$work/kernel"
  dpkg-deb --fsys-tarfile "$work/kernel.deb" |
    tar -x -C "$work/kernel" --wildcards './boot/vmlinuz*' "$folder/modules.*" \
      "$folder/kernel/crypto/*" "$folder/kernel/lib/*" "$folder/kernel/net/*" \
      "$folder/kernel/drivers/infiniband/*" "$folder/kernel/drivers/net/*" \
      "$folder/kernel/drivers/virtio/*" "$folder/kernel/fs/configfs/*"
  find "$work/kernel" -name '*.ko.xz' -exec unxz {} +
  version=$(ls "$work/kernel/lib/modules")
  "$busybox" depmod -b "$work/kernel" "$version"
  cp "$work"/kernel/boot/vmlinuz* "$work/vmlinuz"
}

# The modules that these need, each after those that it needs itself.
in_order() { # MODULE…
  local module line dependency
  for module in "$@"; do
    line=$(grep -E "/${module//_/[-_]}\.ko:" "$modules/modules.dep" || true)
    [ -n "$line" ] || continue # built in
    for dependency in ${line#*:}; do
      [ -e "$root/modules/$(basename "$dependency")" ] ||
        in_order "$(basename "$dependency" .ko)"
    done
    [ -e "$root/modules/$module.ko" ] && continue
    cp "$modules/${line%%:*}" "$root/modules/$module.ko"
    echo "$module.ko" >>"$root/modules/order"
  done
}

# A program or library, stripped, and what it links with, where it lies here.
with_libraries() { # FILE [TO]
  local file=$1 to="$root${2:-$1}" library
  [ -e "$to" ] && return
  mkdir -p "$(dirname "$to")"
  strip -o "$to" "$(readlink -f "$file")" 2>/dev/null || cp -L "$file" "$to"
  for library in $(ldd "$file" 2>/dev/null | grep -o '/[^ )]*'); do
    [ -e "$root$library" ] && continue
    mkdir -p "$root$(dirname "$library")"
    strip -o "$root$library" "$(readlink -f "$library")" 2>/dev/null ||
      cp -L "$library" "$root$library"
  done
}

busybox=$(command -v busybox) || skip "no busybox"
"$busybox" depmod --help >/dev/null 2>&1 || skip "this busybox lacks depmod; busybox-static has it"
ldd "$busybox" >/dev/null 2>&1 && skip "this busybox is not static; busybox-static is"
command -v rdma >/dev/null || skip "no rdma tool (package iproute2)"
command -v tc >/dev/null || skip "no tc (package iproute2)"
libraries=$(dirname "$(ldconfig -p | sed -n 's/.*libucp\.so\.0 .*=> //p' | head -1)")
[ -e "$libraries/ucx/libuct_ib.so.0" ] || skip "no UCX with InfiniBand (package libucx0)"
[ -e "$libraries/libibverbs/librxe-rdmav34.so" ] || skip "no rxe provider (ibverbs-providers)"

mkdir -p "$work"
fetch_kernel
unpack_kernel
modules=$(echo "$work"/kernel/lib/modules/*)
root="$work/root"
rm -rf "$root"
mkdir -p "$root"/{usr/bin,usr/lib,usr/lib64,modules,proc,sys,dev,tmp,etc/libibverbs.d,framewire}
# As on Debian itself: libraries look for one another below both names.
for folder in bin lib lib64; do ln -s "usr/$folder" "$root/$folder"; done
cp "$busybox" "$root/bin/busybox"
cp "$here/near.sh" "$here/far.sh" "$root/framewire/"
install -m 0755 "$here/init.sh" "$root/init"
in_order virtio_pci virtio_net crc32_generic rdma_rxe rdma_ucm sch_netem
with_libraries "$(command -v rdma)" /bin/rdma
with_libraries "$(command -v tc)" /framewire/tc # busybox has a lesser one
for program in "$@"; do with_libraries "$program" "/framewire/$(basename "$program")"; done
# What is loaded at run time.
for library in libucp.so.0 libucs.so.0 libuct.so.0 libibverbs.so.1 librdmacm.so.1 \
  ucx/libuct_ib.so.0 ucx/libuct_rdmacm.so.0 ucx/libuct_cma.so.0 libibverbs/librxe-rdmav34.so; do
  with_libraries "$libraries/$library"
done
echo "driver rxe" >"$root/etc/libibverbs.d/rxe.driver"
printf 'near-and-far 00112233445566778899aabbccddeeff\n' >"$root/framewire/keys"
chmod 0600 "$root/framewire/keys"
(cd "$root" && find . | "$busybox" cpio -o -H newc -R 0:0) >"$work/initramfs" 2>/dev/null
