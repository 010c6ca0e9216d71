#!/usr/bin/env bash
# Installs what building and testing tokenroof needs on Debian 12, and nothing that is there already.
#   scripts/install-deps.sh         build the tool, examples and benchmarks
#   scripts/install-deps.sh test    also what the tests use
set -euo pipefail

packages=(g++ cmake ninja-build nlohmann-json3-dev libfmt-dev libeigen3-dev libcli11-dev
          libbenchmark-dev libxlsxwriter-dev)
if [ "${1:-}" = test ]; then
  packages+=(catch2 librapidcheck-dev libboost-math-dev clang-14 libclang-rt-14-dev clang-format
             pkg-config python3 libreoffice-calc-nogui gnumeric python3-openpyxl python3-jsonschema
             parallel emscripten libxml2-utils man-db groff-base zsh fish dpkg-dev file)
fi

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' ||
    missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)
echo "Installing: ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { "${as_root[@]}" apt-get update -q &&
       DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -q \
         --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  exit 1
fi
