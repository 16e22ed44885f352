# shellcheck shell=dash
# The near guest: runs the tests. Fails if any does.
export FRAMEWIRE_TEST_HOST=10.7.0.1 FRAMEWIRE_TEST_FAR=10.7.0.2:7000
failed=0
run() {
  echo "== $*"
  "$@" || failed=1
}
until echo true | nc 10.7.0.2 7000 >/dev/null 2>&1; do sleep 0.2; done

# Most of the suite within this guest, whose card sends to itself; with the far guest what takes two
# machines.
apart=
for case in PutsBytes GetsBytes TheFarEnd ARevoked APeersDeath ASendersDeath ManySmall; do
  apart="$apart:*.$case*/ucx_rdma_apart"
done
whole="*Rdma*:*/ucx_rdma$apart:*Network*:*Loss*:*Cable*"
run rdma_tests --gtest_color=no --gtest_filter="${FILTER:-$whole}"

# Two programs as their users start them. Few and large messages: this is emulated.
perf() { # TEST OPTIONS…
  local options="--psk $FRAMEWIRE_TEST_PSK --link ucx-rdma --interface rxe0:1" _
  echo "framewire perf $1 --server 10.7.0.2:7100 $options &" | nc 10.7.0.2 7000 >/dev/null
  for _ in 1 2 3 4 5; do
    sleep 1
    # shellcheck disable=SC2086
    framewire perf "$1" 10.7.0.2:7100 $options --verify --json "$2" "$3" "$4" "$5" \
      >/tmp/perf && break
  done
  tr -d '\n ' </tmp/perf
  echo
  grep -q '"path": "ucx rc_verbs on rxe0:1"' /tmp/perf && grep -q '"verified": true' /tmp/perf
}
# It finds no GPU, so that its exit code is 1; what it says about the card counts.
doctor() {
  framewire doctor --json | tr -d '\n' | sed 's/},/}\n/g' | grep truth_test | tee /tmp/truth
  grep -q '"verdict": "ok"' /tmp/truth && grep -q 'compared: alike' /tmp/truth
}
if [ -z "${FILTER:-}" ]; then
  run doctor
  run perf bw --window 4 --sizes 64K:256K
fi
[ "$failed" = 0 ]
