#!/usr/bin/env bash
# libsodium as a static library for Android's 64-bit ABIs, by the NDK: what coterie_jni links there.
#
#   tools/dev/build_sodium_android.sh NDK LIBSODIUM_SOURCE [OUTPUT]
#
# LIBSODIUM_SOURCE: an unpacked release of https://download.libsodium.org (1.0.18 or later). OUTPUT: ./sodium, with a folder an ABI.
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
ndk=$(readlink -f "$1") source=$(readlink -f "$2") output=$(readlink -m "${3:-sodium}")
api=24 # as minSdk of examples/android and of the AAR
tools=$(echo "$ndk"/toolchains/llvm/prebuilt/*/bin)
[ -x "$tools/clang" ] || { echo "$ndk: no NDK: there is no toolchains/llvm/prebuilt/*/bin/clang" >&2; exit 2; }
[ -x "$source/configure" ] || { echo "$source: no release of libsodium: there is no configure" >&2; exit 2; }

for abi in arm64-v8a x86_64; do
  triple=x86_64-linux-android
  [ $abi = arm64-v8a ] && triple=aarch64-linux-android
  build=$(mktemp -d)
  (cd "$build" &&
    CC="$tools/$triple$api-clang" AR="$tools/llvm-ar" RANLIB="$tools/llvm-ranlib" CFLAGS="-Os -fPIC" \
      "$source/configure" --host=$triple --prefix="$output/$abi" --disable-shared --enable-static &&
    make -j"$(nproc)" install)
  rm -rf "$build"
done
echo "libsodium is in $output"
