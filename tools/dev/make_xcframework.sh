#!/usr/bin/env bash
# CCoterie.xcframework for the Swift package, on a Mac: the C interface for iOS devices and simulators, with libsodium in it. It links
# no OpenSSL: HTTPS is the app's (examples/ios has one by URLSession).
#
#   tools/dev/make_xcframework.sh SODIUM
#
# SODIUM: a folder with iphoneos/libsodium.a (arm64) and iphonesimulator/libsodium.a (arm64 and x86_64), as libsodium's own
# dist-build/apple-xcframework.sh builds them. Wanted besides: Xcode, and of Homebrew cmake ninja pkg-config flatbuffers highway libsodium.
set -euo pipefail
[ $# -eq 1 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
[ "$(uname)" = Darwin ] || { echo "$0: needs a Mac with Xcode" >&2; exit 2; }
sodium=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
output=device_sdk/bindings/swift/CCoterie.xcframework

headers=build/ios/headers
rm -rf "$headers" "$output"
mkdir -p "$headers"
cp device_sdk/include/coterie.h device_sdk/include/coterie_train.h device_sdk/bindings/swift/Sources/CCoterie/shim.h "$headers"
# As the package's own, but for what is linked: the framework has it.
grep -v '^  link ' device_sdk/bindings/swift/Sources/CCoterie/module.modulemap > "$headers/module.modulemap"

libraries=()
for sdk in iphoneos iphonesimulator; do
  architectures=arm64
  [ $sdk = iphonesimulator ] && architectures='arm64;x86_64'
  [ -f "$sodium/$sdk/libsodium.a" ] || { echo "$sodium/$sdk: no libsodium.a" >&2; exit 2; }
  # One architecture a build: kernels are chosen by CMAKE_SYSTEM_PROCESSOR.
  slices=()
  for architecture in ${architectures//;/ }; do
    build=build/ios/$sdk-$architecture
    cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_SYSTEM_NAME=iOS -DCMAKE_OSX_SYSROOT=$sdk \
      -DCMAKE_SYSTEM_PROCESSOR="$architecture" -DCMAKE_OSX_ARCHITECTURES="$architecture" -DCMAKE_OSX_DEPLOYMENT_TARGET=16.3 \
      -DCOTERIE_SDK_TRANSPORT=OFF -DCOTERIE_BUILD_SERVER=OFF -DCOTERIE_BUILD_TESTS=OFF
    cmake --build "$build" --target coterie_static
    slices+=("$build/lib/libcoterie.a")
  done
  mkdir -p build/ios/$sdk
  lipo -create "${slices[@]}" -output build/ios/$sdk/libcoterie_alone.a
  libtool -static -o build/ios/$sdk/libcoterie.a build/ios/$sdk/libcoterie_alone.a "$sodium/$sdk/libsodium.a"
  libraries+=(-library "build/ios/$sdk/libcoterie.a" -headers "$headers")
done
xcodebuild -create-xcframework "${libraries[@]}" -output "$output"
echo "$output"
