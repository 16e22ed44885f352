#!/usr/bin/env bash
# make_bundle.sh BUILD_DIR: a tarball of the installed release that runs from any folder.
#
# The libraries it needs lie beside it, save the C library and its kin, which belong to the kernel
# and the loader of the machine it runs on. The program's DT_RPATH ($ORIGIN/../lib, set by the preset
# `bundle`) serves the libraries' own dependencies too, which a RUNPATH would not.
set -euo pipefail

build=$1
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
name="framewire-$version-linux-$(uname -m)"
stage="$build/$name"
program="$stage/bin/framewire"

rm -rf "$stage"
cmake --install "$build" --prefix "$stage" --strip >/dev/null
mkdir -p "$stage/lib"

needed() { # lines "NAME => PATH (ADDRESS)" of ldd become "PATH"
  ldd "$program" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' |
    grep -vE '/(ld-linux[^/]*|lib(c|m|dl|rt|pthread|resolv))\.so'
}

needed | while read -r library; do
  [ "$library" -ef "$stage/lib/$(basename "$library")" ] && continue
  cp -L "$library" "$stage/lib/"
  # Each library's licence travels with it.
  package=$(dpkg-query -S "$(readlink -f "$library")" 2>/dev/null | head -1 | cut -d: -f1) || package=
  if [ -n "$package" ] && [ -f "/usr/share/doc/$package/copyright" ]; then
    mkdir -p "$stage/share/doc/licenses"
    cp -L "/usr/share/doc/$package/copyright" "$stage/share/doc/licenses/$package"
  fi
done

# Moved away from where it was built, it must find everything inside itself.
trial=$(mktemp -d)
trap 'rm -rf "$trial"' EXIT
cp -r "$stage" "$trial/moved"
if ldd "$trial/moved/bin/framewire" | awk '$2 == "=>" { print $3 }' |
  grep -vE "^$trial/|/(ld-linux[^/]*|lib(c|m|dl|rt|pthread|resolv))\.so"; then
  echo "make_bundle: these libraries are still found outside the bundle" >&2
  exit 1
fi
"$trial/moved/bin/framewire" --version

tar --sort=name --owner=0 --group=0 --numeric-owner -C "$build" -czf "$build/$name.tar.gz" "$name"
ls -l "$build/$name.tar.gz"
