#!/usr/bin/env bash
# Images a second of split and stream on two GPUs, beside the batch codec on one:
#   bench/gpu_split.sh BUILD_DIR FILES…
#   IMAGES=100000 SIZE=320x TURNS=3 GPUS="0 1" bench/gpu_split.sh build/cuda photos/*.jpg
# FILES are repeated, as links in a folder of names, until there are IMAGES of them, so that files
# come from memory. Every figure is of this run; compare only within it. Nothing but the outputs of
# batch is written, to /dev/shm. Needs the build to have framewire:
#   cmake --preset cuda && cmake --build build/cuda --target framewire
set -euo pipefail
[ $# -ge 2 ] || {
  sed -n '2,4s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}
framewire=$(realpath "$1")/apps/framewire/framewire
shift
images=${IMAGES:-100000}
size=${SIZE:-320x}
turns=${TURNS:-3}
read -r first second <<<"${GPUS:-0 1}"
# Each step, at most.
limit="timeout --kill-after=5 ${LIMIT_S:-120}"
work_in=/dev/shm
# shellcheck source-path=SCRIPTDIR source=two_ends.sh
source "$(dirname "${BASH_SOURCE[0]}")/two_ends.sh"
fail() { # WHAT LOG
  printf 'FAILED: %s\n' "$1"
  tail -5 "$2" | sed 's/^/    /'
  failed=1
}

mkdir "$work/in"
for file in "$@"; do realpath "$file"; done >"$work/files"
awk -v images="$images" -v folder="$work/in" '{ file[NR - 1] = $0 } END {
  for (i = 0; i < images; ++i) printf "%s%c%s/%06d.jpg%c", file[i % NR], 0, folder, i, 0 }' \
  "$work/files" | xargs -0 -n 2 -P "$(nproc)" ln -s

show_machine
printf '%s images of %s files, to %s\n' "$images" "$(wc -l <"$work/files")" "$size"

alone() { # WHAT COMMAND…
  local what=$1
  shift
  if $limit "$@" >"$work/out" 2>"$work/err"; then
    cat "$work/out" "$work/err" | sed -n 's/.*[ ,]\([0-9.]* images\/s\).*/\1/p' | head -1 |
      sed "s|^|$what: |"
  else
    fail "$what" "$work/err"
  fi
}

# A sink that takes one stream, and the stream; both say what came of it.
pair() { # WHAT SINK_OPTIONS STREAM_OPTIONS…
  local what=$1 to=$2
  shift 2
  # shellcheck disable=SC2086
  listen $limit "$framewire" sink --listen 127.0.0.1:0 --insecure --frames "$images" --slots 64 \
    $to >"$work/sink"
  if $limit "$framewire" stream "$work/in" "127.0.0.1:$port" --insecure "$@" 2>"$work/err"; then
    sed -n "s|.*: \([0-9.]* frames/s.*\)|$what: \1|p" "$work/err" | tail -1
  else
    fail "$what" "$work/err"
    sed 's/^/    sink: /' "$work/server" | tail -5
  fi
  wait "$server" || true
  server=
}

for turn in $(seq "$turns"); do
  heading "turn $turn"
  rm -rf "$work/made"
  alone "batch, one GPU" "$framewire" batch "$work/in" "$work/made" --size "$size" --codec cuda \
    --device "$first"
  alone "split, one GPU" "$framewire" split "$work/in" --size "$size" --devices "$first"
  alone "split over two GPUs" "$framewire" split "$work/in" --size "$size" \
    --devices "$first,$second"
  alone "split over two GPUs, encoded on the second" "$framewire" split "$work/in" \
    --size "$size" --devices "$first,$second" --encode-on "$second"
  pair "stream of JPEGs to the host" "" --as jpeg --from "cuda:$first" --size "$size"
  pair "stream of JPEGs to the other GPU" "--to cuda:$second" --as jpeg --from "cuda:$first" \
    --size "$size"
  pair "stream of small planes to the other GPU" "--to cuda:$second" --as planes \
    --from "cuda:$first" --size "$size"
  pair "stream of the files' planes to the other GPU" "--to cuda:$second" --as planes \
    --from "cuda:$first"
done
heading "the outputs of split are those of batch"
$limit "$framewire" split "$work/in" --out "$work/split" --size "$size" --quiet \
  --devices "$first,$second" --encode-on "$second" 2>"$work/err" || fail "split" "$work/err"
if diff -rq "$work/made" "$work/split" >"$work/err"; then
  echo same
else
  fail "they differ" "$work/err"
fi
exit "$failed"
