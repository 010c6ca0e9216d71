#!/usr/bin/env bash
# Writes docs/accuracy.md: how far predictions are from the measurements in data/validation.
#   scripts/accuracy.sh [path of the tool]      default: build-release/src/tokenroof
set -euo pipefail
cd "$(dirname "$0")/.."
tool=${1:-build-release/src/tokenroof}

{
  cat docs/accuracy_head.md
  for set in closed_loop:csv open_loop:json measurements:csv capacity:csv gemm:csv \
             attention_decode:csv attention_prefill:csv moe:csv allreduce:csv nccl:csv; do
    name=${set%%:*}
    printf '\n## %s\n\n' "$name"
    "$tool" validate "data/validation/$name.${set##*:}" --format markdown
  done
} >docs/accuracy.md
