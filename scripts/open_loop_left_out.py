#!/usr/bin/env python3
"""Open-loop errors of runs that the constants have not seen.

  scripts/open_loop_left_out.py [path of the tool]      default: build-release/src/tokenroof

Two constants of vLLM were set in view of these runs as well as of closed loops, weight_stream and
request_overhead; all others come from closed loops alone. For each run the two are chosen anew, from
a grid, by the three reported means of the other runs, and the run is predicted with them. Once with
the numbers of streamed chunks that runs state, and once as if none did.
"""
import copy
import csv
import io
import itertools
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
GRID = {"weight_stream": (0.92, 0.96, 1.0, 1.02, 1.04, 1.06, 1.08, 1.1, 1.12, 1.14, 1.16, 1.2, 1.25),
        "request_overhead": ("0 ms", "2 ms", "4 ms", "6 ms", "8 ms", "10 ms", "12 ms", "15 ms")}
REPORTED = ("e2e_mean_ms", "itl_mean_ms", "ttft_mean_ms")


def put(node, shipped, values):
    """Replaces the shipped values of the two constants wherever an era of versions states them."""
    for key, child in node.items() if isinstance(node, dict) else enumerate(node):
        if key in values and child["value"] == shipped[key]["value"]:
            child["value"] = values[key]
        elif isinstance(child, (dict, list)):
            put(child, shipped, values)


def ratios(data, profile, runs):
    """Predicted over measured, by run and metric."""
    (data / "engines/vllm.json").write_text(json.dumps(profile))
    (data / "runs.json").write_text(json.dumps(runs))
    text = subprocess.run([TOOL, "validate", data / "runs.json", "--data", data, "--format", "csv",
                           "--quiet"], check=True, capture_output=True, text=True).stdout
    found = {}
    for row in csv.DictReader(io.StringIO(text)):
        ratio = float(row["predicted"]) / float(row["measured"])
        found.setdefault(row["id"], {})[row["metric"]] = ratio
    return found


def report(data, shipped, runs):
    as_shipped = ratios(data, shipped, runs)
    tried = {}
    for values in itertools.product(*GRID.values()):
        profile = copy.deepcopy(shipped)
        put(profile, shipped["constants"], dict(zip(GRID, values)))
        tried[values] = ratios(data, profile, runs)
    held_out = {}
    for left in as_shipped:
        chosen = min(tried, key=lambda values: sum(abs(math.log(tried[values][run][metric]))
                                                   for run in as_shipped if run != left
                                                   for metric in REPORTED))
        held_out[left] = tried[chosen][left]
        print(left, *chosen, *(f"{metric} {held_out[left][metric] - 1:+.1%}" for metric in REPORTED))
    for metric in REPORTED:
        median = {name: statistics.median(abs(run[metric] - 1) for run in found.values())
                  for name, found in (("left out", held_out), ("as shipped", as_shipped))}
        print(metric, *(f"{name} {error:.1%}" for name, error in median.items()))


def main():
    shipped = json.loads((ROOT / "data/engines/vllm.json").read_text())
    runs = json.loads(RUNS.read_text())
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder) / "data"
        shutil.copytree(ROOT / "data", data)
        print("with stated numbers of chunks")
        report(data, shipped, runs)
        for run in runs:
            run["prompt"].pop("streamed_chunks", None)
        print("without")
        report(data, shipped, runs)


if __name__ == "__main__":
    main()
