#!/usr/bin/env bash
# Times every path between two GPUs of one machine, the direct ones and those through the host, in
# one run of a few minutes:
#   bench/gpu_paths.sh OUT.json [BUILD_DIR] [FROM TO]      … build/cuda 0 1
#   bench/plot_gpu_paths.py OUT.json FOLDER      draws it
# Needs the build to have framewire. SIZES and ITERATIONS in the environment change what is measured.
# A path that fails is named and left out; the exit status is 1 then.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
out=${1:?usage: bench/gpu_paths.sh OUT.json [BUILD_DIR] [FROM TO]}
build=${2:-build/cuda}
from=${3:-0}
to=${4:-1}
sizes=${SIZES:-4K:64M}
framewire=$build/apps/framewire/framewire
# shellcheck source-path=SCRIPTDIR source=two_ends.sh
source bench/two_ends.sh
common=(--from "cuda:$from" --sizes "$sizes" --json)
[ -z "${ITERATIONS:-}" ] || common+=(--iterations "$ITERATIONS")
runs=()

# Keeps the report of a path, whose name goes with it.
keep() { # NAME TEST STATUS
  if [ "$3" -eq 0 ]; then
    runs+=("$1" "$work/$1-$2")
  else
    echo "FAILED ($3): $1 $2"
    failed=1
  fi
}

one_process() { # TEST
  local status=0
  timeout --kill-after=5 180 "$framewire" perf "$1" --to "cuda:$to" "${common[@]}" "${window[@]}" \
    >"$work/one-process-$1" || status=$?
  keep one-process "$1" "$status"
}

two_processes() { # TEST LINK
  local status=0
  listen timeout --kill-after=5 180 "$framewire" perf "$1" --server 127.0.0.1:0 --insecure \
    --link "$2" --to "cuda:$to"
  timeout --kill-after=5 180 "$framewire" perf "$1" "127.0.0.1:$port" --insecure --link "$2" \
    "${common[@]}" "${window[@]}" >"$work/$2-$1" || status=$?
  [ "$status" -eq 0 ] || kill "$server" 2>/dev/null
  wait "$server" || status=$?
  server=
  keep "$2" "$1" "$status"
}

show_machine
for test in latency bw bibw; do
  heading "$test"
  window=()
  [ "$test" = latency ] || window=(--window 16)
  one_process "$test"
  for link in peer peer-stream shared stream; do two_processes "$test" "$link"; done
done

python3 - "$out" "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null)" \
  "$("$framewire" version)" "${runs[@]}" <<'PYTHON'
import json
import sys

out, devices, version, *runs = sys.argv[1:]
results = []
for name, path in zip(runs[::2], runs[1::2]):
    with open(path, encoding="utf-8") as file:
        results.append({"run": name, **json.load(file)})
report = {"devices": devices.splitlines(), "version": version.splitlines(), "results": results}
with open(out, "w", encoding="utf-8") as file:
    json.dump(report, file, indent=1)
    file.write("\n")
PYTHON
exit "$failed"
