#!/usr/bin/env bash
# What the training engine weighs in an app: the smallest program that trains, linked without what it does not reach
# and stripped, for this machine's kind and for 64-bit ARM; with all ops and with some (-DCOTERIE_OPS_FROM). Fails
# if one has grown (tests/footprint), or does not train, or a kernel is wrong: some of those built for size are other code.
#
#   tools/dev/footprint.sh
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
source tools/dev/setup.sh

install_packages "${coterie_packages[@]}" "${coterie_check_packages[@]}"
# weigh WHAT PRESET FOLDER [OPS]
weigh() {
  cmake --preset "$2" -B "$3" -DCMAKE_BUILD_TYPE=MinSizeRel "-DCOTERIE_OPS_FROM=${4:-}" > "$3.log" 2>&1 ||
    fail "cmake could not configure $3; see $3.log"
  cmake --build "$3" --target coterie-footprint coterie-footprint-inputs >&2
  ctest --test-dir "$3" -L footprint > "$3.log" 2>&1 || fail "a test of what was weighed failed; see $3.log"
  printf '%-28s %7d KiB\n' "$1" $(($(stat -c %s "$3/bin/coterie-footprint") / 1024))
}
mkdir -p build
ops=$PWD/tests/footprint
for preset in engine arm64; do
  machine=$([[ $preset == arm64 ]] && echo arm64 || uname -m)
  runner=()
  [[ $preset == engine ]] || runner=(qemu-aarch64-static -cpu cortex-a53 -L /usr/aarch64-linux-gnu)
  weigh "LeNet-5's ops, $machine" "$preset" "build/$preset-footprint" "$ops/lenet5.txt"
  weigh "the same without options, $machine" "$preset" "build/$preset-footprint" "$ops/smallest.txt"
  weigh "image networks' ops, $machine" "$preset" "build/$preset-footprint" "$ops/tier1.txt"
  weigh "all ops, $machine" "$preset" "build/$preset-footprint"
  cmake --build "build/$preset-footprint" --target train_kernels_test >&2
  "${runner[@]}" "build/$preset-footprint/tests/unit/train_kernels/train_kernels_test" \
    --gtest_brief=1 --gtest_filter=-*DeathTest* >&2 || fail "a kernel built for size is wrong; see above"
done
