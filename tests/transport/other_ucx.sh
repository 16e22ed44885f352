#!/usr/bin/env bash
# Runs the transport's suite over the UCX in a folder, instead of the system's, both as the tests
# find it and in a process of its own. The build stays against the system's headers.
# usage: other_ucx.sh TRANSPORT_TESTS FOLDER-WITH-LIBUCP
# NVIDIA's wheels hold one: pip download --no-deps libucx-cu12==VERSION, unzip, libucx/lib.
set -euo pipefail

if [ $# != 2 ] || [ ! -e "$2/libucp.so.0" ]; then
  sed -n '2,5s/^# //p' "$0" >&2
  exit 2
fi
tests=$1
folder=$(cd "$2" && pwd)
export LD_LIBRARY_PATH="$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

# A folder whose library does not load would leave the system's in its place, unseen.
filter='Links/*.*ucx_tcp:Links/*.*ucx_*_apart'
# Not among them: over 1.22 UCX crashes where a peer in the same process dies before UCX has read
# that it wanted to connect (ucp_wireup_process_request), with the host's memory as with a device's.
filter="$filter:*/*.*/ucx_card_*:UcxCard*:-*ASendersDeathInTheMiddle*/ucx_card_*"
loaded=$(LD_DEBUG=libs "$tests" --gtest_filter='Links/LeaseAttack.*Once/ucx_tcp' 2>&1 |
  grep -c "calling init: $folder/libucp.so.0" || true)
if [ "$loaded" = 0 ]; then
  echo "the tests do not load $folder/libucp.so.0" >&2
  exit 1
fi
exec "$tests" --gtest_brief=1 --gtest_filter="$filter"
