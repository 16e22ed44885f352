#!/bin/sh
# What the virtual machine does: the service below systemd, as an administrator meets it.
set -eu
address=http://127.0.0.1:8080
settings=/etc/framewire/framewire.toml

failed() {
  echo "FAILED: $*"
  journalctl --no-pager -u framewire.service -u framewire.socket | tail -40
  echo "service: failed"
  exit 1
}
expect() { # WHAT COMMAND…
  what=$1
  shift
  "$@" >/tmp/said 2>&1 || {
    cat /tmp/said
    failed "$what: $*"
  }
  echo "ok: $what"
}
soon() { # COMMAND…: succeeds within 60 seconds
  for _ in $(seq 600); do
    if "$@"; then return 0; fi
    sleep 0.1
  done
  return 1
}
answers() { # STATUS PATH
  test "$(curl -s -o /tmp/picture -m 20 -w '%{http_code}' "$address$2")" = "$1"
}
active() { test "$(systemctl is-active "$1")" = "$2"; }
status_has() { systemctl show -p StatusText framewire.service | grep -q "$1"; }
pid() { systemctl show -p MainPID --value framewire.service; }
small=/unsafe/rs:fit:64:64/plain/a.jpg

expect "it is disabled" sh -c '! systemctl is-enabled framewire.service framewire.socket'
expect "nothing runs" sh -c '! systemctl is-active framewire.service framewire.socket'
expect "the units are sound" systemd-analyze verify --man=no framewire.service framewire.socket
expect "settings are for the service alone" sh -c \
  "test \"\$(stat -c %a:%U:%G $settings)\" = 640:root:framewire"
echo 'folder = "/srv/photos"' >>"$settings"
expect "the socket starts" systemctl start framewire.socket
expect "nothing runs yet" active framewire.service inactive
expect "the first request starts the service" answers 200 "$small"
expect "it has told that it is ready" active framewire.service active
expect "its status names the socket" status_has 'listening on 127.0.0.1:8080'
runs_as() { test "$(stat -c %U "/proc/$(pid)")" = "$1"; }
expect "it runs as its own user" runs_as framewire
expect "there is no such preset" answers 404 /unsafe/pr:tiny/plain/a.jpg
echo 'presets = ["tiny=w:32"]' >>"$settings"
before=$(pid)
expect "systemctl reload" systemctl reload framewire.service
expect "the preset is there" soon answers 200 /unsafe/pr:tiny/plain/a.jpg
expect "by the same process" test "$before" = "$(pid)"
expect "its status says so" soon status_has 'reloaded: presets changed'
cp "$settings" /tmp/good
echo 'nonsense = 1' >>"$settings"
expect "a reload with a mistake" systemctl reload framewire.service
expect "the mistake is named" soon status_has "framewire.toml:[0-9]*: there is no setting nonsense"
expect "it serves on" answers 200 /unsafe/pr:tiny/plain/a.jpg
cat /tmp/good >"$settings"
# Not one request fails while it restarts: the socket stays open.
(
  bad=0
  for _ in $(seq 150); do answers 200 "$small" || bad=$((bad + 1)); done
  echo "$bad" >/tmp/bad
) &
expect "systemctl restart" systemctl restart framewire.service
expect "again" systemctl restart framewire.service
wait
expect "no request failed" test "$(cat /tmp/bad)" = 0
expect "another process" test "$before" != "$(pid)"
# A process that stands still gives no sign of life.
mkdir -p /run/systemd/system/framewire.service.d
printf '[Service]\nWatchdogSec=2\n' >/run/systemd/system/framewire.service.d/watchdog.conf
systemctl daemon-reload
systemctl restart framewire.service
before=$(pid)
sleep 5
expect "a service that works is left alone" test "$before" = "$(pid)"
kill -STOP "$before"
another() { test "$(pid)" != "$before" && answers 200 "$small"; }
expect "one that stands still is restarted" soon another
expect "by the watchdog" sh -c 'journalctl -u framewire.service | grep -qi "watchdog timeout"'
expect "systemctl stop" systemctl stop framewire.socket framewire.service
result_is() { test "$(systemctl show -p Result --value framewire.service)" = "$1"; }
expect "it ended by itself" result_is success
expect "without the socket unit it listens itself" systemctl start framewire.service
expect "and answers" answers 200 "$small"
systemctl stop framewire.service
systemd-analyze security --no-pager framewire.service | tail -1
expect "it is well enclosed" systemd-analyze security --threshold=20 framewire.service
expect "the package goes" dpkg --purge framewire
expect "with its units" sh -c '! systemctl cat framewire.service'
echo "service: passed"
