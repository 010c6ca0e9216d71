#!/usr/bin/env bash
# Everything that must hold: format, layers, a warning-free release build by g++ with all tests, and
# the sanitizer build. Installs what is missing. The same script runs in CI.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/install-deps.sh test

echo "== format"
git ls-files '*.hpp' '*.cpp' | xargs -r clang-format --dry-run -Werror

echo "== release build and tests"
cmake --preset release -DTOKENROOF_TESTS=ON >/dev/null
cmake --build --preset release
ctest --preset release -j "$(nproc)"

# By clang without optimisation: a second compiler reads library, tool and tests, in a third of the
# time that g++ takes to instrument them. Afresh: a folder of another compiler loses every option.
echo "== sanitizers"
cmake --preset asan --fresh >/dev/null
cmake --build --preset asan
ctest --preset asan -j "$(nproc)"
