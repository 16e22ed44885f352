#!/usr/bin/env bash
# run_local.sh PROGRAM EXAMPLE PHOTO…: runs examples/local.cpp against an engine that the installed
# program serves at a socket of this run's own.
set -euo pipefail

program=$1 example=$2
shift 2
folder=$(mktemp -d)
server=
end() {
  [ -z "$server" ] || { kill "$server" && wait "$server"; } || true
  rm -rf "$folder"
}
trap end EXIT

"$program" serve --listen 127.0.0.1:0 --drain-delay 0 --local "$folder/socket" --local-mode 600 \
  >"$folder/log" 2>&1 &
server=$!
for _ in $(seq 200); do
  [ -S "$folder/socket" ] && break
  kill -0 "$server" 2>/dev/null || break
  sleep 0.1
done
[ -S "$folder/socket" ] || {
  cat "$folder/log" >&2
  exit 1
}
"$example" "$folder/socket" "$@"
