#!/usr/bin/env bash
# truncated.sh PROGRAM SAMPLE WORK_DIR: resizes cut-off files under Valgrind's memcheck, which
# reports every uninitialised byte that reaches write(). Stale memory in an output would be a leak.
#
# Most of the time would go into starting: Valgrind translates the program anew each time, and reads
# its symbols. So all files share a process, and the symbols, with where bytes come from, are asked
# for only once something has been found.
set -euo pipefail

program=$1 sample=$2 work=$3
rm -rf "$work"
mkdir -p "$work/in"
bytes=$(stat -c %s "$sample")
for permille in 30 200 500 800 990; do
  head -c $((bytes * permille / 1000)) "$sample" >"$work/in/cut-$permille.jpg"
done
strip -o "$work/program" "$program"

resize() { # OUTPUTS OPTIONS…: exit codes 0 and 1 (some inputs gave none) are memcheck's good ones
  local code=0
  "${memcheck[@]}" --error-exitcode=99 "$tested" batch "$work/in" "$1" --jobs 1 "${@:2}" ||
    code=$?
  [ "$code" -le 1 ]
}

number=0
for options in "--size 64x64" "--size 200x200 --sampling 444 --progressive" "--codec reference --size 40x"; do
  read -ra words <<<"$options"
  number=$((number + 1))
  memcheck=(valgrind -q) tested=$work/program
  if ! resize "$work/out-$number" "${words[@]}"; then
    echo "memcheck or the program failed with $options" >&2
    memcheck=(valgrind -q --track-origins=yes) tested=$program
    resize "$work/again-$number" "${words[@]}" || true
    exit 1
  fi
done

# A cut inside the headers may give nothing; all others must have given something to look at.
outputs=$(find "$work" -path "$work/out-*" -name '*.jpg' | wc -l)
if [ "$outputs" -lt 9 ]; then
  echo "only $outputs outputs of truncated files; expected at least 9 of 15" >&2
  exit 1
fi
echo "$outputs outputs, every byte initialised"
