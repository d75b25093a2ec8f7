# What quickstart, check and bench share. To be sourced, from the repository's root.
source tools/dev/packages.sh

say() {
  if [ -t 2 ]; then printf '\033[1m%s\033[0m\n' "$*" >&2; else printf '%s\n' "$*" >&2; fi
}
fail() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# The missing of the named packages; nothing is said when there are none.
install_packages() {
  local package missing=()
  command -v dpkg-query > /dev/null && command -v apt-get > /dev/null ||
    fail "this script installs Debian packages, and there is no apt-get here. Install the equivalents of: $*" \
      "Then: cmake --preset release && cmake --build --preset release"
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  apt_install "${missing[@]}"
}

# Package files, unless just these are installed: the same name and version.
install_files() {
  local file missing=()
  for file in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status} ${Version}' "$(dpkg-deb -f "$file" Package)" 2> /dev/null)" = \
      "installed $(dpkg-deb -f "$file" Version)" ] || missing+=("$file")
  done
  [ ${#missing[@]} -eq 0 ] && return
  apt_install "${missing[@]}"
}

# Names of packages, or paths of package files.
apt_install() {
  say "Installing $# packages: $*"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo > /dev/null ||
      fail "packages are missing and only root may install them. As root: apt-get install -y $*"
    as_root=(sudo)
  fi
  local log
  log=$(mktemp)
  if ! "${as_root[@]}" apt-get update -qq > "$log" 2>&1 ||
    ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -qq --no-install-recommends "$@" >> "$log" 2>&1; then
    tail -n 15 "$log" >&2
    rm -f "$log"
    fail "apt-get could not install them (its last words are above). Coterie is built on Debian 12; check that" \
      "/etc/apt/sources.list names a bookworm mirror and that it can be reached, then run this again."
  fi
  rm -f "$log"
}

# build PRESET TARGET...: configures if need be and builds, on all cores.
build() {
  local preset=$1
  shift
  local log=build/$preset-configure.log
  mkdir -p build
  cmake --preset "$preset" > "$log" 2>&1 || {
    tail -n 25 "$log" >&2
    fail "cmake could not configure the $preset build (see above, and $log). After an upgrade of the system" \
      "'rm -r build/$preset' and running this again often helps."
  }
  cmake --build --preset "$preset" ${1:+--target "$@"} >&2 ||
    fail "the $preset build failed; the compiler's words are above. If the tree is unchanged and memory was short" \
      "(clang needs about 1 GB a core), run it again with CMAKE_BUILD_PARALLEL_LEVEL=1."
}
