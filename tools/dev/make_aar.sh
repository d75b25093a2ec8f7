#!/usr/bin/env bash
# coterie.aar for phones and emulators: libcoterie_jni.so of Android's 64-bit ABIs by the NDK, the classes, and Kotlin's functions
# where there is a kotlinc. It links libsodium alone: HTTPS is the app's (examples/android has one).
#
#   tools/dev/build_sodium_android.sh NDK LIBSODIUM_SOURCE sodium
#   tools/dev/make_aar.sh NDK sodium [OUTPUT]
#
# OUTPUT: coterie.aar. Wanted besides: CMake, ninja, a JDK, flatc, and the headers of FlatBuffers, Highway and libsodium.
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
ndk=$(readlink -f "$1") sodium=$(readlink -f "$2") output=$(readlink -m "${3:-coterie.aar}")
cd "$(dirname "$(readlink -f "$0")")/../.."
toolchain=$ndk/build/cmake/android.toolchain.cmake
strip=$(echo "$ndk"/toolchains/llvm/prebuilt/*/bin/llvm-strip)
[ -f "$toolchain" ] || { echo "$ndk: no NDK: there is no build/cmake/android.toolchain.cmake" >&2; exit 2; }

options=(-G Ninja -DCMAKE_BUILD_TYPE=Release -DCOTERIE_SDK_TRANSPORT=OFF -DCOTERIE_BUILD_SERVER=OFF -DCOTERIE_BUILD_TESTS=OFF)
libraries=$PWD/build/android/jni
for abi in arm64-v8a x86_64; do
  [ -f "$sodium/$abi/lib/libsodium.a" ] || { echo "$sodium/$abi/lib: no libsodium.a: run build_sodium_android.sh" >&2; exit 2; }
  cmake -S . -B build/android/$abi "${options[@]}" -DCMAKE_TOOLCHAIN_FILE="$toolchain" -DANDROID_ABI=$abi \
    -DANDROID_PLATFORM=android-24 -DANDROID_STL=c++_static -DCOTERIE_ANDROID_SODIUM="$sodium"
  cmake --build build/android/$abi --target coterie_jni
  mkdir -p "$libraries/$abi"
  "$strip" --strip-unneeded -o "$libraries/$abi/libcoterie_jni.so" \
    build/android/$abi/lib/libcoterie_jni.so
done
cmake -S . -B build/android/aar "${options[@]}" -DCOTERIE_AAR_LIBRARIES="$libraries"
cmake --build build/android/aar --target coterie_aar
cp build/android/aar/lib/coterie.aar "$output"
echo "$output"
