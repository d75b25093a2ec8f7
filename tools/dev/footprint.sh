#!/usr/bin/env bash
# What the training engine weighs in an app: the smallest program that trains, linked without what it does not reach
# and stripped, for this machine's kind and for 64-bit ARM.
#
#   tools/dev/footprint.sh
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
source tools/dev/setup.sh

install_packages "${coterie_packages[@]}"
# weigh WHAT PRESET FOLDER
weigh() {
  cmake --preset "$2" -B "$3" -DCMAKE_BUILD_TYPE=MinSizeRel > "$3.log" 2>&1 || fail "cmake could not configure $3; see $3.log"
  cmake --build "$3" --target coterie-footprint >&2
  printf '%-28s %7d KiB\n' "$1" $(($(stat -c %s "$3/bin/coterie-footprint") / 1024))
}
mkdir -p build
weigh "all ops, $(uname -m)" engine build/engine
weigh "all ops, arm64" arm64 build/arm64-footprint
