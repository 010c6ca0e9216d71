#!/usr/bin/env python3
"""Shards of a sweep under GNU parallel, joined, are the whole byte for byte. Exit 77: no parallel."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

TOOL = sys.argv[1]
SCENARIO = """{"model": "llama-3.1-8b", "accelerator": "h100-sxm-80gb",
  "workload": {"batch": 1, "context_tokens": 1000}}"""


def main():
    if not shutil.which("parallel"):
        print("no GNU parallel here")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        scenario = pathlib.Path(folder) / "scenario.json"
        scenario.write_text(SCENARIO)
        sweep = [TOOL, "sweep", str(scenario), "--axis", "batch=1:300:+1", "--axis",
                 "context=1k,8k,64k", "--axis", "precision.weights=bf16,fp8"]
        whole = subprocess.run(sweep, capture_output=True, check=True).stdout
        for count in (1, 5, 16):
            shards = "\n".join(f"{k}/{count}" for k in range(1, count + 1))
            joined = subprocess.run(["parallel", "--will-cite", "--keep-order", "--jobs", "4", "--quote",
                                     *sweep, "--threads", "1", "--shard", "{}"],
                                    input=shards.encode(), capture_output=True, check=True).stdout
            if joined != whole:
                print(f"{count} shards: {len(joined)} bytes, the whole has {len(whole)}")
                return 1
        print(f"1, 5 and 16 shards: {len(whole)} bytes each time")
    return 0


sys.exit(main())
