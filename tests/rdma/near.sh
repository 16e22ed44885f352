# shellcheck shell=dash
# The near guest: runs the tests. Fails if any does.
export FRAMEWIRE_TEST_HOST=10.7.0.1 FRAMEWIRE_TEST_FAR=10.7.0.2:7000
failed=0
run() {
  echo "== $*"
  "$@" || failed=1
}
until echo true | nc 10.7.0.2 7000 >/dev/null 2>&1; do sleep 0.2; done

# Most of the suite within this guest, whose card sends to itself; what two machines are needed for
# with the far one.
apart='PutsBytes*:*GetsBytes*:*TheFarEnd*:*ARevoked*:*APeersDeath*:*ASendersDeath*:*ManySmall*'
run rdma_tests --gtest_color=no \
  --gtest_filter="${FILTER:-*Rdma*:*/ucx_rdma}"
[ -n "${FILTER:-}" ] ||
  run rdma_tests --gtest_color=no --gtest_filter="*$(echo "$apart" | sed 's/\*:/*ucx_rdma_apart:/g; s/\*$/*ucx_rdma_apart/')"
[ "$failed" = 0 ]
