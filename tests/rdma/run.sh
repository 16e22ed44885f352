#!/usr/bin/env bash
# The transport over RDMA with no network card: two virtual machines with soft-RoCE, joined by a
# cable. One runs the tests, the other holds the far end of connections.
#   run.sh WORK_DIR PROGRAM…
# Exits with 77 (skipped) and says why where the machine lacks something.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
work=$1
limit_s=${FRAMEWIRE_RDMA_LIMIT_S:-400}

qemu=$(command -v qemu-system-x86_64) || {
  echo "SKIPPED: no qemu-system-x86_64 (package qemu-system-x86)" >&2
  exit 77
}
for program in "${@:2}"; do
  [ -x "$program" ] || {
    echo "SKIPPED: $program is not built; ./dev network builds it" >&2
    exit 77
  }
done
"$here/make_guest.sh" "$@"

# A short name: a socket's may have 107 characters.
cable=$(mktemp -d)
guests=()
cleanup() {
  local guest
  for guest in "${guests[@]}"; do kill "$guest" 2>/dev/null || true; done
  rm -rf "$cable"
}
trap cleanup EXIT

# Emulated, not accelerated: it is the same everywhere, and needs no rights. A processor without AVX
# is the fastest to emulate. FRAMEWIRE_RDMA_FILTER chooses tests, for work on one of them.
boot() { # END MAC NETDEV
  "$qemu" -machine q35,accel=tcg -cpu Nehalem -smp 1 -m 768 -nodefaults -no-reboot -display none \
    -kernel "$work/vmlinuz" -initrd "$work/initramfs" \
    -append "console=ttyS0 quiet panic=-1 mitigations=off end=$1 ${FRAMEWIRE_RDMA_FILTER:+FILTER=$FRAMEWIRE_RDMA_FILTER}" \
    -netdev "$3,id=cable,addr.type=unix,addr.path=$cable/socket" \
    -device "virtio-net-pci,netdev=cable,mac=$2" -serial stdio </dev/null >"$work/$1.log" 2>&1 &
  guests+=($!)
}

: >"$work/near.log"
boot far 52:54:00:00:00:02 stream,server=on
for _ in $(seq 100); do
  [ -S "$cable/socket" ] && break
  sleep 0.1
done
boot near 52:54:00:00:00:01 stream,server=off

# The near end leaves when it is done, and the far end with it.
near=${guests[1]}
timeout "$limit_s" tail -f --pid="$near" -n +1 "$work/near.log" | tr -d '\r' || true
if ! grep -q "guest near: passed" "$work/near.log"; then
  printf '\n---- the far end said:\n'
  tr -d '\r' <"$work/far.log"
  echo "FAILED: the near end has not passed within $limit_s s" >&2
  exit 1
fi
