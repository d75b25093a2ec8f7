#!/usr/bin/env bash
# The tests of what has threads, under ThreadSanitizer: the device's runtime and transport, the scheduler, the server.
#
#   tools/dev/thread_sanitizer.sh                     all of them
#   tools/dev/thread_sanitizer.sh server_test         only these programs
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
source tools/dev/setup.sh

programs=(base_test aggregation_test scheduler_test runtime_test transport_test agent_test server_core_test store_test finalize_test
  server_test)
[ $# -eq 0 ] || programs=("$@")
say "Building with ThreadSanitizer: ${programs[*]}"
build tsan "${programs[@]}"
bad=()
for program in "${programs[@]}"; do
  say "$program"
  # Death tests fork a process that has threads, which ThreadSanitizer does not follow.
  "$(find build/tsan/tests -type f -name "$program")" --gtest_brief=1 --gtest_filter='-*DeathTest*' || bad+=("$program")
done
[ ${#bad[@]} -eq 0 ] || fail "these had failures or data races, which are above: ${bad[*]}"
