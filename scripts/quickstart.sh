#!/usr/bin/env bash
# The main job on a bare Debian 12: installs what is missing, builds the tool, and answers how
# Llama-3.1-70B runs on eight H100.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install-deps.sh
cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DTOKENROOF_TESTS=OFF \
  -DTOKENROOF_EXAMPLES=OFF -DTOKENROOF_BENCHMARKS=OFF >/dev/null
cmake --build build -- --quiet
build/src/tokenroof estimate examples/specs/llama-70b-8xh100.json
