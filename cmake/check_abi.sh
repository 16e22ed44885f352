#!/usr/bin/env bash
# check_abi.sh WORK_DIR [record]: compares the ABI of the public headers with abi/, where it is
# recorded, and with what the last release of this minor version recorded there
# (docs/decisions/0021).
#
# record: writes it down instead of complaining. Exit status 77: cannot be compared here.
set -euo pipefail
work=$(mkdir -p "$1" && realpath "$1")
mode=${2:-check}
cd "$(dirname "${BASH_SOURCE[0]}")/.."

skip() {
  echo "SKIPPED: $*"
  exit 77
}

# Other machines and compilers describe the standard library's types otherwise.
command -v abidw >/dev/null || skip "no abidw here (Debian: abigail-tools)"
[ "$(uname -m)" = x86_64 ] || skip "the ABI is recorded for x86_64, this is $(uname -m)"
compiler=clang++
command -v clang++-14 >/dev/null && compiler=clang++-14
version=$("$compiler" -dumpversion 2>/dev/null) || version=none
[ "${version%%.*}" = 14 ] || skip "the ABI is recorded with Clang 14, found $version"

minor=$(sed -n 's/^project(Framewire VERSION \([0-9]*\.[0-9]*\)\..*/\1/p' CMakeLists.txt)
soname=libframewire.so.$minor
recorded="abi/$soname.x86_64.abi.xz"
now="$work/$soname.abi"
python3 cmake/public_api.py include >"$work/describe.cpp"
"$compiler" -std=c++20 -g -fstandalone-debug -fPIC -shared -fvisibility=hidden -Iinclude \
  "-Wl,-soname,$soname" "$work/describe.cpp" -o "$work/describe.so"
abidw --exported-interfaces-only --no-corpus-path --no-comp-dir-path --no-show-locs \
  --out-file "$now" "$work/describe.so"

# Says what changed. Sets `change`: abidiff's bits, 4 for a change, 8 for one that breaks callers.
compare() { # OLD
  change=0
  # With people's names of functions.
  abidiff "$1" "$now" | sed 's/\(has\|Type\)_Z/_Z/g' | c++filt || change=$?
  [ $((change & 3)) = 0 ] || { echo "abidiff could not compare"; exit 1; }
}

# The last tag of this minor version. Whoever was linked with it must go on working.
tag=$(git describe --tags --abbrev=0 --match "v$minor.*" 2>/dev/null) || tag=
if [ -n "$tag" ] && git cat-file -e "$tag:$recorded" 2>/dev/null; then
  git show "$tag:$recorded" | xz -dc >"$work/$tag.abi"
  echo "$soname against $tag:"
  compare "$work/$tag.abi"
  if [ $((change & 8)) != 0 ]; then
    echo "$soname breaks programs that were linked with $tag: the minor version must be raised"
    exit 1
  fi
else
  echo "no release of $soname yet: nobody is linked with it"
fi

if [ "$mode" = record ]; then
  mkdir -p abi
  xz -9e -c "$now" >"$recorded"
  echo "recorded in $recorded"
elif [ ! -e "$recorded" ]; then
  echo "$recorded is missing; './dev abi record' writes it"
  exit 1
else
  xz -dc "$recorded" >"$work/recorded.abi"
  compare "$work/recorded.abi"
  if [ "$change" != 0 ]; then
    echo "$soname is not as recorded in $recorded; if that is meant: ./dev abi record"
    exit 1
  fi
  echo "$soname is as recorded in $recorded"
fi
