#!/usr/bin/env bash
# Debian packages and a tarball of the release, in build/packages/packages. ./quickstart takes packages that lie beside it:
#
#   tools/dev/make_packages.sh && cp build/packages/packages/coterie*.deb . && ./quickstart
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
source tools/dev/setup.sh

install_packages "${coterie_packages[@]}" "${coterie_console_packages[@]}" dpkg-dev file
say "Building the release"
build packages
[ -e build/packages/console/console_bundle.cc ] ||
  fail "the build has no console: build/packages-configure.log says why. npm's registry must be within reach, and then:" \
    "rm -r build/packages && tools/dev/make_packages.sh"
say "Packing it"
rm -f build/packages/packages/*.deb build/packages/packages/*.tar.gz # of versions before
for generator in DEB TGZ; do
  (cd build/packages && cpack -G "$generator" > "packages-$generator.log" 2>&1) || {
    tail -n 25 "build/packages/packages-$generator.log" >&2
    fail "cpack could not make the $generator files (its last words are above)"
  }
done
ls -l build/packages/packages/*.deb build/packages/packages/*.tar.gz
