#!/usr/bin/env bash
# run.sh PACKAGES SAMPLE: builds packaging/container with podman, as docs/serve.md says, and uses the
# service in it. FRAMEWIRE_BASE_IMAGE names the image that it is built on, as podman pull takes it, also
# docker-archive:FILE; without it that is Debian's, or, where no registry can be reached, one of
# debootstrap. Exit status 77: no container runs here, and why.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
recipe=$here/../../packaging/container/Containerfile
packages=$(realpath "$1")
sample=$(realpath "$2")
mirror=${FRAMEWIRE_MIRROR:-http://deb.debian.org/debian}
codename=bookworm # as in the recipe

skip() {
  echo "SKIPPED: $*"
  exit 77
}
[ "$(id -u)" = 0 ] || skip "the storage of a test wants root"
for tool in podman debootstrap curl python3; do
  command -v "$tool" >/dev/null || skip "no $tool here"
done

# Nothing is left in the storage of whoever runs this, nor of what runs there now.
work=$(mktemp -d)
chmod 755 "$work"
engine=(podman --root "$work/storage" --runroot "$work/run" --storage-driver vfs --cgroup-manager cgroupfs)
# Podman would raise these limits, which takes a right that root may lack.
limits=(--ulimit "nofile=$(ulimit -n):$(ulimit -n)" --ulimit nproc=1000:1000)
# As docs/serve.md has it.
secure=(--read-only --cap-drop all --security-opt no-new-privileges)

cleanup() {
  "${engine[@]}" rm --all --force --time 5 >/dev/null 2>&1 || true
  umount -l "$work/storage/vfs" 2>/dev/null || true
  rm -rf --one-file-system "$work"
}
trap cleanup EXIT

failed() {
  echo "FAILED: $*"
  "${engine[@]}" logs service 2>&1 | tail -20 || true
  echo "container: failed"
  exit 1
}
expect() { # WHAT COMMAND…
  local what=$1
  shift
  "$@" >"$work/said" 2>&1 || {
    cat "$work/said"
    failed "$what: $*"
  }
  echo "ok: $what"
}
soon() { # COMMAND…: succeeds within a minute
  local end=$((SECONDS + 60))
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.2
  done
}
answers() { # STATUS PATH
  [ "$(curl -s -o "$work/answer" -D "$work/head" -m 20 -w '%{http_code}' "http://127.0.0.1:$port$2")" = "$1" ]
}
of_image() { # FORMAT EXPECTED
  [ "$("${engine[@]}" image inspect --format "$1" framewire)" = "$2" ]
}
inside() { "${engine[@]}" exec service "$@"; }
has() { # FILE WORDS
  grep -qi -- "$2" "$1"
}
says() { # WORDS
  "${engine[@]}" logs service >"$work/log" 2>&1 && has "$work/log" "$1"
}
is_smaller() {
  [ "$(stat -c %s "$work/answer")" -lt "$(stat -c %s "$sample")" ] &&
    [ "$(od -An -tx1 -N2 "$work/answer")" = " ff d8" ]
}
start() { # OPTIONS OF PODMAN… -- FLAGS OF THE SERVICE…
  local options=()
  while [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  shift
  "${engine[@]}" run --detach --name service "${limits[@]}" "${secure[@]}" -p "127.0.0.1:$port:8080" \
    "${options[@]}" framewire "$@"
}
stop() { # expects that it ends in order
  local code
  "${engine[@]}" stop --time 30 service >/dev/null
  code=$("${engine[@]}" inspect --format '{{.State.ExitCode}}' service)
  "${engine[@]}" rm service >/dev/null
  [ "$code" = 0 ] || {
    echo "exit code $code"
    return 1
  }
}

image=${FRAMEWIRE_BASE_IMAGE:-docker.io/library/debian:$codename-slim}
if ! base=$(timeout 120 "${engine[@]}" pull --quiet "$image" 2>"$work/pull"); then
  [ -z "${FRAMEWIRE_BASE_IMAGE:-}" ] || failed "$image: $(tail -1 "$work/pull")"
  echo "no registry here; a fresh $codename from $mirror"
  debootstrap --variant=minbase "$codename" "$work/base" "$mirror" >"$packages/debootstrap.log" 2>&1 || {
    tail -5 "$packages/debootstrap.log"
    skip "debootstrap failed"
  }
  base=$(tar -C "$work/base" --one-file-system -c . | "${engine[@]}" import --quiet -)
  rm -rf --one-file-system "$work/base"
fi
base=${base##*:} # of sha256:…

# Debian's default runtime refuses what some machines have of control groups; the other may not.
for runtime in "" crun runc; do
  [ -z "$runtime" ] || command -v "$runtime" >/dev/null || continue
  "${engine[@]}" ${runtime:+--runtime "$runtime"} run --rm "${limits[@]}" "${secure[@]}" "$base" true \
    >"$work/said" 2>&1 && break
  runtime=none
done
[ "$runtime" != none ] || skip "no container runs here: $(tail -1 "$work/said")"
[ -z "$runtime" ] || engine+=(--runtime "$runtime")

expect "the image is built" "${engine[@]}" build "${limits[@]}" --format docker --build-arg "BASE=$base" \
  -t framewire -f "$recipe" "$packages"
expect "it is not root's" of_image '{{.User}}' 65532:65532
expect "it ends by SIGTERM" of_image '{{.Config.StopSignal}}' SIGTERM
# shellcheck disable=SC2016 # it is the shell inside that lists
expect "it keeps no package" "${engine[@]}" run --rm "${limits[@]}" --entrypoint sh framewire -c \
  'test ! -e /packages && test -z "$(ls /var/lib/apt/lists)"'

port=$(python3 -c 'import socket
with socket.create_server(("127.0.0.1", 0)) as server: print(server.getsockname()[1])')
mkdir "$work/photos"
install -m 0644 "$sample" "$work/photos/a.jpg"
small=/unsafe/rs:fit:64:64/plain/a.jpg

expect "it starts" start -v "$work/photos:/photos:ro" -e FRAMEWIRE_TTL=60 -- /photos
expect "it is ready" soon answers 200 /readyz
expect "it resizes" answers 200 "$small"
expect "to something smaller" is_smaller
expect "by the variable's setting" has "$work/head" '^cache-control:.*max-age=60'
expect "what is not there is not found" answers 404 /unsafe/rs:fit:64:64/plain/b.jpg
expect "its health check" "${engine[@]}" healthcheck run service
expect "it runs as nobody of this machine" test "$(inside id -u)" = 65532
expect "without any right" sh -c '! grep -E "^Cap(Prm|Eff|Bnd)" | grep -v "0000000000000000$"' \
  < <(inside cat /proc/1/status)
expect "it is the first process" has <(inside cat /proc/1/cmdline | tr '\0' ' ') '^framewire serve /photos'
"${engine[@]}" exec --user 0:0 service touch /etc/x >"$work/touched" 2>&1 && failed "its file system can be written"
expect "its file system is read-only" has "$work/touched" 'read-only file system'
expect "it ends in order" stop

printf 'folder = "/photos"\n' >"$work/settings.toml"
chmod 644 "$work/settings.toml"
expect "it starts with a file of settings" start -v "$work/photos:/photos:ro" \
  -v "$work/settings.toml:/etc/framewire.toml:ro" -- --config /etc/framewire.toml
expect "and is ready" soon answers 200 "$small"
expect "there is no such preset" answers 404 /unsafe/pr:tiny/plain/a.jpg
echo 'presets = ["tiny=w:32"]' >>"$work/settings.toml"
expect "podman kill -s HUP" "${engine[@]}" kill -s HUP service
expect "the preset is there" soon answers 200 /unsafe/pr:tiny/plain/a.jpg
expect "its log says so" says 'presets changed'
expect "it ends in order again" stop

mkdir -m 0777 "$work/out"
expect "a batch in it" "${engine[@]}" run --rm "${limits[@]}" "${secure[@]}" --entrypoint framewire \
  -v "$work/photos:/photos:ro" -v "$work/out:/out" framewire batch /photos /out --size 64x
expect "has written" test -s "$work/out/a.jpg"
echo "container: passed"
