# The Debian 12 packages Coterie is built, tested and measured with. To be sourced: it only defines names.

coterie_packages=(
  git curl ca-certificates                                      # tools
  cmake ninja-build pkg-config clang-16 lld-16 llvm-16 libclang-rt-16-dev python3
  libboost1.81-dev libssl-dev libcurl4-openssl-dev zlib1g-dev   # network
  libflatbuffers-dev flatbuffers-compiler nlohmann-json3-dev libcli11-dev
  libsodium-dev libsqlite3-dev libpq-dev prometheus-cpp-dev
  libprotobuf-dev protobuf-compiler libonnx-dev                 # ONNX: of the last only onnx.proto
  libjpeg-dev libpng-dev                                        # images
  libeigen3-dev libhwy-dev                                      # arithmetic
  libgtest-dev libgmock-dev googletest                          # tests; googletest: its sources
  g++-12-aarch64-linux-gnu qemu-user-static                     # tests of the engine on 64-bit ARM
  openjdk-17-jdk-headless                                       # the Java binding
  python3-flatbuffers python3-cryptography python3-numpy        # the device in Python, which is one
)

# Only for tests: databases, networks, and programs that judge what deploy/ and docs/openapi.json hold. Tests that lack them are
# left out.
coterie_check_packages=(clang-format-16 prometheus postgresql-15 python3-yaml iproute2 sqlite3 jq openssl)
# Node.js runs the OpenAPI linter. One that is there stays: builds of it from elsewhere bring npm along and conflict with
# Debian's package of it.
command -v npm > /dev/null || coterie_check_packages+=(nodejs npm)

# Only for comparisons in ./bench.
coterie_peer_packages=(nginx-light python3-torch python3-torchvision libopenblas0-pthread)  # PyTorch with the BLAS it deserves

# Only for tests that compare with PyTorch and ONNX; without them they are skipped.
coterie_oracle_packages=(python3-torch python3-torchvision python3-onnx)
