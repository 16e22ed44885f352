#!/usr/bin/env bash
# try_packages.sh PACKAGES SOURCE SAMPLE: installs the Debian packages in a fresh chroot and uses them
# there: the program, its manual and completion, and an example that is compiled through
# find_package() and through pkg-config. Removing them leaves nothing. Exit status 77: there can be no
# chroot here.
set -euo pipefail

packages=$(realpath "$1")
source=$(realpath "$2")
sample=$(realpath "$3")
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
mirror=${FRAMEWIRE_MIRROR:-http://deb.debian.org/debian}
[ "$(. /etc/os-release && echo "$ID")" = ubuntu ] && mirror=${FRAMEWIRE_MIRROR:-http://archive.ubuntu.com/ubuntu}

skip() {
  echo "SKIPPED: $*"
  exit 77
}
[ "$(id -u)" = 0 ] || skip "a chroot needs root"
command -v debootstrap >/dev/null || skip "no debootstrap here"
timeout 20 python3 - "$mirror/dists/$codename/Release" <<'PYTHON' || skip "no way to $mirror"
import sys
import urllib.request

urllib.request.urlopen(sys.argv[1], timeout=15).read(1)
PYTHON

root=$(mktemp -d)
chmod 755 "$root"  # apt and man work as users of their own
cleanup() {
  local folder
  for folder in proc sys; do
    mountpoint -q "$root/$folder" && umount -l "$root/$folder"
  done
  rm -rf --one-file-system "$root"
}
trap cleanup EXIT

inside() { # COMMAND…
  chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive "$@"
}
# Nobody minds if this machine loses power; waiting for its disk takes most of the time.
apt() { inside apt-get -qq -y --no-install-recommends -o Dpkg::Options::=--force-unsafe-io "$@"; }
files() { (cd "$root" && find usr etc -path usr/share/doc -prune -o ! -type d -print | sort); }
expect() { # WHAT COMMAND…: fails unless the command succeeds
  local what=$1
  shift
  "$@" >"$root/tmp/said" 2>&1 || {
    echo "try_packages: $what: $*"
    cat "$root/tmp/said"
    exit 1
  }
  echo "ok: $what"
}

echo "a fresh $codename from $mirror"
debootstrap --variant=minbase "$codename" "$root" "$mirror" >"$packages/debootstrap.log" 2>&1 || {
  tail -5 "$packages/debootstrap.log"
  skip "debootstrap failed"
}
apt install g++ cmake make pkg-config libexpected-dev man-db bash-completion >"$packages/apt.log" 2>&1
mkdir "$root/packages" "$root/example"
cp "$packages"/*.deb "$root/packages/"
cp "$source/examples/resize.cpp" "$sample" "$root/example/"
cat >"$root/example/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(UsesFramewire LANGUAGES C CXX)
find_package(Framewire REQUIRED)
add_executable(resize resize.cpp)
target_link_libraries(resize PRIVATE Framewire::framewire)
CMAKE
photo=/example/$(basename "$sample")

# What they depend on belongs to the image before, so that removal can be compared.
depends=$(for deb in "$root"/packages/*.deb; do dpkg-deb -f "$deb" Depends; done |
  tr , '\n' | sed 's/[(|].*//; s/ //g' | grep -v framewire | sort -u)
# shellcheck disable=SC2086 # one word a package
apt install $depends >>"$packages/apt.log" 2>&1
files >"$packages/before"

expect "the packages install" inside sh -c 'dpkg -i /packages/*.deb'
expect "the program runs" inside framewire resize "$photo" /example/small.jpg --size 100x100
expect "its output is smaller" test "$(stat -c %s "$root/example/small.jpg")" -lt "$(stat -c %s "$sample")"
expect "the manual is found" inside sh -c 'man -w framewire && man framewire | grep -q resize'
expect "bash completes it" inside bash -c \
  '. /usr/share/bash-completion/bash_completion; _completion_loader framewire; complete -p framewire'
expect "zsh and fish have theirs" inside sh -c \
  'test -s /usr/share/zsh/vendor-completions/_framewire -a -s /usr/share/fish/vendor_completions.d/framewire.fish'
expect "an example builds by find_package()" inside sh -c \
  'cmake -S /example -B /example/build >/dev/null && cmake --build /example/build'
# shellcheck disable=SC2016 # it is the shell inside that asks pkg-config
expect "and by pkg-config" inside sh -c \
  'cd /example && g++ -std=c++20 resize.cpp $(pkg-config --cflags --libs framewire) -o by_pkg_config'
for program in build/resize by_pkg_config; do
  expect "$program runs" inside sh -c "/example/$program < $photo >/example/out && test -s /example/out"
done
expect "the pages are there" inside test -s /usr/share/doc/framewire-doc/docs/library.md
expect "the packages go" inside sh -c 'dpkg --purge framewire framewire-doc libframewire-dev libframewire0.1'
files >"$packages/after"
expect "and leave nothing" diff "$packages/before" "$packages/after"
