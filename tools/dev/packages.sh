# The Debian 12 packages Coterie is built, tested and measured with. To be sourced: it only defines names.

# What the programs of `coterie demo` are built of: all that ./quickstart installs.
coterie_demo_packages=(
  cmake ninja-build pkg-config clang-16 lld-16 python3-minimal
  libboost1.81-dev libssl-dev libcurl4-openssl-dev libexpat1-dev zlib1g-dev  # network
  libflatbuffers-dev flatbuffers-compiler nlohmann-json3-dev libcli11-dev
  libsodium-dev libsqlite3-dev libpq-dev prometheus-cpp-dev
  libjpeg-dev libpng-dev                                        # images
  libzstd-dev                                                   # packed tables
  libhwy-dev                                                    # arithmetic
)

# What the whole build needs (preset release): ONNX, gRPC (without it the build leaves `coterie serve --grpc` out) and the programs
# behind ./bench, whose build has the tests.
coterie_packages=(
  "${coterie_demo_packages[@]}"
  libprotobuf-dev protobuf-compiler libonnx-dev                 # ONNX: of the last only onnx.proto
  libgrpc++-dev protobuf-compiler-grpc
  python3 libgtest-dev libgmock-dev
)

# Only for ./check: sanitizers, 64-bit ARM, the Java and Python bindings, the device in Python, databases, networks, and programs that judge
# what deploy/ and docs/openapi.json hold. Tests that lack the latter are left out.
coterie_check_packages=(
  git curl ca-certificates llvm-16 libclang-rt-16-dev clang-format-16
  googletest g++-12-aarch64-linux-gnu qemu-user-static          # the first: its sources, for the engine's tests on 64-bit ARM
  openjdk-17-jdk-headless
  python3-flatbuffers python3-cryptography python3-numpy python3-yaml python3-pip python3-setuptools python3-wheel mypy
  python3-jsonschema
  prometheus postgresql-15 iproute2 sqlite3 jq openssl
)
# Node.js makes the console; without it the build leaves the console out. One that is there stays: builds of it from elsewhere
# bring npm along and conflict with Debian's package of it.
coterie_console_packages=()
command -v npm > /dev/null || coterie_console_packages=(nodejs npm)
coterie_check_packages+=("${coterie_console_packages[@]}")  # it runs the OpenAPI linter, too

# Only for comparisons in ./bench.
coterie_peer_packages=(nginx-light python3-torch python3-torchvision libopenblas0-pthread)  # PyTorch with the BLAS it deserves

# Only for simulations by several processes (mpirun coterie simulate); without them the build leaves that out.
coterie_mpi_packages=(libopenmpi-dev openmpi-bin)

# Only for delegates: oneDNN, and OpenCL with a driver that is the CPU; without the first two the build leaves their modules out, without the
# last a test is skipped.
coterie_delegate_packages=(libdnnl-dev ocl-icd-opencl-dev pocl-opencl-icd)

# Only for tests that compare with PyTorch and ONNX; without them they are skipped.
coterie_oracle_packages=(python3-torch python3-torchvision python3-onnx)
