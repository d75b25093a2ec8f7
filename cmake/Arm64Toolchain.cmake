# 64-bit ARM Linux, built by Debian's cross compiler and run by qemu's user mode (g++-aarch64-linux-gnu,
# qemu-user-static): preset arm64. Nothing below /usr of the building machine is on the compiler's path; what we use of
# it as headers alone is linked into the build tree (CoterieHeaders.cmake).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc-12)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++-12)

set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# The oldest core that Android still runs on: an instruction it lacks is an illegal instruction here too.
set(COTERIE_ARM_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR ${COTERIE_ARM_EMULATOR} -cpu cortex-a53)
