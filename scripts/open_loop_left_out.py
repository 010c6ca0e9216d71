#!/usr/bin/env python3
"""Open-loop errors of runs that the constants have not seen.

  scripts/open_loop_left_out.py [path of the tool]      default: build-release/src/tokenroof

Two constants of vLLM were corrected in view of these runs, weight_stream and prompt_efficiency; all
others come from closed loops. For each run the two are chosen anew, from a grid, by the end-to-end
time and the first token of the other runs, and the run is predicted with them.
"""
import copy
import csv
import io
import json
import math
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOL = sys.argv[1] if len(sys.argv) > 1 else ROOT / "build-release/src/tokenroof"
RUNS = ROOT / "data/validation/open_loop.json"
GRID = {"weight_stream": (0.88, 0.94, 1.0, 1.04, 1.08, 1.12, 1.16, 1.2, 1.25),
        "prompt_efficiency": (0.5, 0.6, 0.7, 0.76, 0.82, 0.9, 1.0)}
JUDGED = ("e2e_mean_ms", "ttft_mean_ms")
REPORTED = ("e2e_mean_ms", "itl_mean_ms", "ttft_mean_ms")


def put(node, shipped, values):
    """Replaces the shipped values of the two constants wherever an era of versions states them."""
    for key, child in node.items() if isinstance(node, dict) else enumerate(node):
        if key in values and child["value"] == shipped[key]["value"]:
            child["value"] = values[key]
        elif isinstance(child, (dict, list)):
            put(child, shipped, values)


def ratios(data, profile):
    """Predicted over measured, by run and metric."""
    (data / "engines/vllm.json").write_text(json.dumps(profile))
    text = subprocess.run([TOOL, "validate", RUNS, "--data", data, "--format", "csv", "--quiet"],
                          check=True, capture_output=True, text=True).stdout
    runs = {}
    for row in csv.DictReader(io.StringIO(text)):
        ratio = float(row["predicted"]) / float(row["measured"])
        runs.setdefault(row["id"], {})[row["metric"]] = ratio
    return runs


def main():
    shipped = json.loads((ROOT / "data/engines/vllm.json").read_text())
    tried = {}
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder) / "data"
        shutil.copytree(ROOT / "data", data)
        as_shipped = ratios(data, shipped)
        for stream in GRID["weight_stream"]:
            for prompts in GRID["prompt_efficiency"]:
                profile = copy.deepcopy(shipped)
                put(profile, shipped["constants"],
                    {"weight_stream": stream, "prompt_efficiency": prompts})
                tried[stream, prompts] = ratios(data, profile)
    held_out = {}
    for left in as_shipped:
        chosen = min(tried, key=lambda pair: sum(abs(math.log(tried[pair][run][metric]))
                                                 for run in as_shipped if run != left
                                                 for metric in JUDGED))
        held_out[left] = tried[chosen][left]
        print(left, *chosen, *(f"{metric} {held_out[left][metric] - 1:+.1%}" for metric in REPORTED))
    for metric in REPORTED:
        median = {name: statistics.median(abs(run[metric] - 1) for run in runs.values())
                  for name, runs in (("left out", held_out), ("as shipped", as_shipped))}
        print(metric, *(f"{name} {error:.1%}" for name, error in median.items()))


if __name__ == "__main__":
    main()
