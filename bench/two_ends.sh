# shellcheck shell=bash disable=SC2034
# What the scripts for two GPUs share. They source it, with $framewire set, and perhaps $work_in.
: "${framewire:?}"
work=$(mktemp -d -p "${work_in:-${TMPDIR:-/tmp}}") # gone afterwards
failed=0                                           # the exit status
server=                                            # what listens now
finish() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

heading() { printf '\n## %s\n' "$*"; }

show_machine() {
  heading machine
  nvidia-smi --query-gpu=index,name,driver_version --format=csv,noheader 2>/dev/null || true
  "$framewire" version
}

# Starts $server and waits until it has a $port. It says that, and the rest, to $work/server.
listen() { # COMMAND…
  port=
  : >"$work/server"
  "$@" 2>"$work/server" &
  server=$!
  for _ in $(seq 200); do
    port=$(sed -n 's/.*listening on port \([0-9]*\).*/\1/p' "$work/server")
    [ -z "$port" ] || break
    sleep 0.1
  done
}
