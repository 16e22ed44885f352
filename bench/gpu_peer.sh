#!/usr/bin/env bash
# Verifies and times transport between two GPUs of one machine, in a few minutes:
#   bench/gpu_peer.sh [BUILD_DIR] [FROM TO]      build/cuda 0 1
# First the tests, then raw copies beside framewire perf in one process, in two, and staged. Every
# figure is of this run; compare only within it. Needs the build to have framewire, gpu_tests and
# gpu_copies:
#   cmake --preset cuda
#   cmake --build build/cuda --target framewire gpu_tests gpu_copies
# A step that fails or hangs is named, and the rest goes on; the exit status is 1 then.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
build=${1:-build/cuda}
from=${2:-0}
to=${3:-1}
framewire=$build/apps/framewire/framewire
# shellcheck source-path=SCRIPTDIR source=two_ends.sh
source bench/two_ends.sh
# Runs a step for two minutes at most.
step() { # NAME COMMAND…
  local name=$1 status=0
  shift
  timeout --kill-after=5 120 "$@" || status=$?
  [ "$status" -eq 0 ] && return
  echo "FAILED ($status): $name"
  failed=1
  return 1
}

show_machine
nvidia-smi topo -m 2>/dev/null | head -12 || true

heading checks
step "gpu_tests" "$build/tests/gpu_tests" --gtest_brief=1 --gtest_filter='TransportDevices.*'

heading "raw: cudaMemcpyPeerAsync, and through pinned host memory"
step "gpu_copies" "$build/bench/gpu_copies" "$from" "$to"

# Checks are apart from timing: a checksum of device memory copies it to the host.
heading "one process, checked"
step "checked" "$framewire" perf bw --from "cuda:$from" --to "cuda:$to" --sizes 4K:16M --verify \
  --window 8

for test in latency bw bibw; do
  heading "one process: $test"
  step "$test" "$framewire" perf "$test" --from "cuda:$from" --to "cuda:$to" --sizes 4K:256M \
    --window 16
done

# Two processes. The server takes one client, and says which port it has.
pair() { # LINK TEST SIZES WINDOW [OPTIONS…]
  local link=$1 test=$2 sizes=$3 window=$4 status=0
  shift 4
  listen timeout --kill-after=5 150 "$framewire" perf "$test" --server 127.0.0.1:0 --insecure \
    --link "$link" --to "cuda:$to"
  if step "$link $test, client" "$framewire" perf "$test" "127.0.0.1:$port" --insecure \
    --link "$link" --from "cuda:$from" --sizes "$sizes" --window "$window" "$@"; then
    wait "$server" || status=$?
  else
    sleep 1 # for the server to find out and say what it knows
    kill "$server" 2>/dev/null
    wait "$server" || status=$?
    status="after the client, $status"
  fi
  server=
  [ "$status" = 0 ] && return
  echo "FAILED ($status): $link $test, server, which said:"
  sed 's/^/  server: /' "$work/server"
  failed=1
}

links=(peer peer-stream)
heading "two processes, checked"
for link in "${links[@]}"; do pair "$link" bw 4K:16M 8 --verify; done
for link in "${links[@]}"; do
  for test in latency bw bibw; do
    heading "two processes, $link: $test"
    pair "$link" "$test" 4K:256M 16
  done
done

heading "two processes, staged through host memory"
for link in shared stream; do pair "$link" bw 1M:64M 16; done

# 1920 × 1080 samples of luma and a quarter as many twice of chroma.
heading "a decoded 1920x1080 frame of 4:2:0, 3110400 bytes: half of a round trip, us"
step "frame" "$framewire" perf latency --from "cuda:$from" --to "cuda:$to" --sizes 3110400
pair peer latency 3110400 1
exit "$failed"
