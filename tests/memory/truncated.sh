#!/usr/bin/env bash
# truncated.sh PROGRAM SAMPLE WORK_DIR: resizes cut-off files under Valgrind's memcheck, which
# reports every uninitialised byte that reaches write(). Stale memory in an output would be a leak.
set -euo pipefail

program=$1 sample=$2 work=$3
rm -rf "$work"
mkdir -p "$work"
bytes=$(stat -c %s "$sample")
outputs=0

for permille in 30 200 500 800 990; do
  cut="$work/cut-$permille.jpg"
  out="$work/out-$permille.jpg"
  head -c $((bytes * permille / 1000)) "$sample" >"$cut"
  for options in "--size 64x64" "--size 200x200 --sampling 444 --progressive" "--codec reference --size 40x"; do
    # shellcheck disable=SC2086  # the options are words
    if valgrind -q --error-exitcode=99 --track-origins=yes \
      "$program" resize "$cut" "$out" $options; then
      outputs=$((outputs + 1))
    elif [ $? != 1 ]; then
      echo "memcheck or the program failed on $cut with $options" >&2
      exit 1
    fi
  done
done

# A cut inside the headers may give nothing; all others must have given something to look at.
if [ "$outputs" -lt 9 ]; then
  echo "only $outputs outputs of truncated files; expected at least 9 of 15" >&2
  exit 1
fi
echo "$outputs outputs, every byte initialised"
