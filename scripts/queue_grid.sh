#!/usr/bin/env bash
# Writes docs/queue_grid.md: the closed form of the queue against simulation, case by case.
#   scripts/queue_grid.sh [path of queue_grid] [scale]      default: build-release/benchmarks/queue_grid 1
set -euo pipefail
cd "$(dirname "$0")/.."
grid=${1:-build-release/benchmarks/queue_grid}
scale=${2:-1}
rows=$(mktemp)
summary=$(mktemp)
unseen=$(mktemp)
trap 'rm -f "$rows" "$summary" "$unseen"' EXIT
"$grid" "$scale" 42 >"$rows" 2>"$summary"
"$grid" "$scale" 23 2>"$unseen" >/dev/null

{
  cat docs/queue_grid_head.md
  printf '\nThis run: `queue_grid %s`, that factor on up to two million requests a simulation.\n' "$scale"
  printf '\n## Summary\n\n```\n'
  grep -E '^(bursty|load)' "$summary"
  printf '```\n\n## Other engines\n\nDrawn anew (seed 23), of the same kinds; no formula was written with them in view.\n\n```\n'
  grep -E '^(bursty|load)' "$unseen"
  printf '```\n\n## Every case\n\n'
  # Errors are closed form over simulation - 1; +- is the 95 %% half width of the simulated value.
  awk -F, '
    NR == 1 {
      for (i = 1; i <= NF; i++) at[$i] = i
      print "| case | prompts | places | load | output | prompt | hits | budget | running | TPOT | TTFT | +- | P95 TTFT | +- | P95 E2E |"
      print "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
      next
    }
    function error(a, b) { return sprintf("%+.1f %%", 100 * ($at[a] / $at[b] - 1)) }
    function width(a, b) { return sprintf("%.1f %%", 100 * $at[a] / $at[b]) }
    {
      bursts = $at["arrival_squared_cv"] == 1 ? "" : ", bursts " $at["arrival_squared_cv"]
      printf "| %s | %s | %s | %s%s | %s %s | %s %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n",
        $at["case"], $at["mode"], $at["places"], $at["load"], bursts, $at["output"],
        $at["output_law"], $at["prompt"], $at["prompt_law"], $at["hits"], $at["budget"],
        error("running", "running_sim"), error("tpot", "tpot_sim"), error("ttft", "ttft_sim"),
        width("ttft_sim_error", "ttft_sim"), error("ttft_p95", "ttft_p95_sim"),
        width("ttft_p95_sim_error", "ttft_p95_sim"), error("e2e_p95", "e2e_p95_sim")
    }' "$rows"
} >docs/queue_grid.md
