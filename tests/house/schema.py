#!/usr/bin/env python3
"""The schemas of data/schema say what the readers say: schema.py TOOL SOURCE. Exit 77: no jsonschema.

Every shipped file is valid; the keys of each object are those that its reader knows; and a list of
slips is refused, or accepted, by both.
"""
import copy
import json
import pathlib
import re
import subprocess
import sys
import tempfile

TOOL = pathlib.Path(sys.argv[1]).resolve()
SOURCE = pathlib.Path(sys.argv[2]).resolve()
KINDS = ("scenario", "accelerator", "engine", "kernels", "prices")
faults = []


def check(good, text):
    if not good:
        faults.append(text)


def read(kind, value, folder):
    """Exit code and messages of the reader."""
    path = folder / "it.json"
    path.write_text(json.dumps(value))
    run = subprocess.run([TOOL, "validate-spec", path, "--kind", kind], capture_output=True, text=True)
    return run.returncode, run.stderr


def at(value, path):
    for part in path:
        value = value[part]
    return value


def changed(value, path, new):
    """A copy with `new` at `path`; `new` None takes the key away."""
    value = copy.deepcopy(value)
    parent = at(value, path[:-1])
    if new is ...:
        parent.pop(path[-1], None)
    else:
        parent[path[-1]] = new
    return value


def properties(schema, node):
    """The keys that a schema node lets an object have, its references and alternatives followed."""
    keys = set(node.get("properties", {}))
    if "$ref" in node:
        keys |= properties(schema, at(schema, node["$ref"].split("/")[1:]))
    for other in node.get("anyOf", []):
        if other.get("type") != "null":
            keys |= properties(schema, other)
    return keys


def node_at(schema, path):
    """The schema of the object at `path`."""
    found = [schema]
    if "$ref" in schema:
        found.append(at(schema, schema["$ref"].split("/")[1:]))
    for part in path:
        below = []
        for node in found:
            below += [node["items"]] if isinstance(part, int) and "items" in node else []
            below += [node["properties"][part]] if part in node.get("properties", {}) else []
        found = []
        while below:
            node = below.pop()
            if "$ref" in node:
                below.append(at(schema, node["$ref"].split("/")[1:]))
            below += node.get("anyOf", [])
            found.append(node)
    return found


def known_keys(kind, value, path, folder):
    """What the reader lists when it meets a key like no other."""
    code, message = read(kind, changed(value, [*path, "qqqqqqqqqq"], 1), folder)
    listed = re.search(r"qqqqqqqqqq: unknown key; known here: (.*)", message)
    check(code == 3 and listed, f"{kind} {path}: no list of known keys: {message}")
    return set(listed.group(1).split(", ")) if listed else set()


SCENARIO = {
    "model": "llama-3.1-8b", "accelerator": "h100-sxm-80gb",
    "engine": {"name": "vllm", "reserve": "auto", "constants": {"step": {"value": "1 ms"}}},
    "precision": {"weights": "fp8"}, "deployment": {"tensor_parallel": 2},
    "workload": {"input_tokens": 1024, "output_tokens": "1k", "arrival_rate": "4 req/s",
                 "sessions": {"turns": 2}},
    "objective": {"ttft_p95": "1 s", "tokens_per_s_per_user": 20},
    "price": {"accelerator_hour": "2.50 USD"},
    "speculation": {"draft_tokens": 4, "acceptance": 0.7},
    "disaggregation": {"prefill_replicas": 1, "decode_replicas": 2}}
LOAD = {"input_tokens": 10, "output_tokens": 10}
KIND = {"name": "chat", "share": 2, "input_tokens": 100, "output_tokens": "1k", "prefix_hit_rate": 0.5}

# Path, value (... takes the key away), whether it is valid.
SCENARIO_SLIPS = [
    (["modle"], "x", False), (["model"], ..., False), (["model"], 7, False),
    (["model"], None, False), (["comment"], [1], True), (["question"], {"x": 1}, True),
    (["$schema"], "scenario.json", True), (["engine"], None, True), (["engine"], [], False),
    (["engine", "reserve"], "2 GiB", True), (["engine", "reserve"], "2", False),
    (["engine", "reserve"], "0 B", True), (["engine", "memory_fraction"], 0, False),
    (["engine", "memory_fraction"], 1, True), (["engine", "memory_fraction"], 1e-300, False),
    (["engine", "max_sequences"], 1.5, False), (["engine", "max_sequences"], 4096.0, True),
    (["engine", "kv_policy"], "paged", False), (["engine", "kv_policy"], "exact", True),
    (["engine", "chunked_prefill"], "yes", False), (["engine", "version"], 0.9, False),
    (["engine", "constants", "step", "value"], "1 GB", False),
    (["engine", "constants", "step", "value"], 1, False),
    (["engine", "constants", "step", "value"], "-1 ms", False),
    (["engine", "constants", "step"], {}, False),
    (["engine", "constants", "bus_sharing"], {"value": 1.5}, False),
    (["engine", "constants", "bus_sharing"], {"value": 0.5}, True),
    (["engine", "constants", "communication_overlap"], {"value": 1}, False),
    (["engine", "constants", "attention_rows"], {"value": 0.5}, False),
    (["precision", "weights"], "fp9", False), (["precision", "weights"], "fp4", True),
    (["precision", "compute"], "q8_0", False), (["precision", "compute"], "fp8", True),
    (["deployment", "tensor_parallel"], 0, False), (["deployment", "tensor_parallel"], "2", False),
    (["deployment", "pipeline_parallel"], 2e6, False), (["deployment"], {}, True),
    (["workload"], ..., False), (["workload", "arrival_rate"], ..., False),
    (["workload", "arrival_rate"], "4 tok/s", False), (["workload", "arrival_rate"], 4, False),
    (["workload", "arrival_rate"], "0 req/s", False), (["workload", "arrival_rate"], "2k req/h", True),
    (["workload", "arrival_rate"], "1e-300 req/s", None), (["workload", "concurrency"], 4, False),
    (["workload"], LOAD | {"concurrency": 4}, True), (["workload"], LOAD | {"concurrency": 0}, False),
    (["workload"], LOAD | {"concurrency": 4, "arrival_squared_cv": 1}, False),
    (["workload", "arrival_squared_cv"], 1e4, True), (["workload", "arrival_squared_cv"], 10001, False),
    (["workload"], LOAD | {"concurrency": 4, "arrival_rate": None}, True),
    (["workload"], {"concurrency": 4}, False),
    (["workload"], {"batch": 4, "context_tokens": 0}, True), (["workload"], {"batch": 4}, False),
    (["workload"], {"batch": 1.5, "context_tokens": 10}, False),
    (["workload", "input_tokens"], "1 GB", False), (["workload", "input_tokens"], "128k tokens", True),
    (["workload", "input_tokens"], "1Ki", True), (["workload", "input_tokens"], 0, False),
    (["workload", "lengths"], "fixed", True), (["workload", "lengths"], "random", False),
    (["workload", "lengths"], {"uniform": [0.8, 1.0]}, True),
    (["workload", "lengths"], {"uniform": [0.8]}, False),
    (["workload", "lengths"], {"uniform": None}, False),
    (["workload", "lengths"], {"lognormal": 0.5}, True), (["workload", "lengths"], {"trace": ""}, False),
    (["workload", "lengths"], {"lognormal": 0.5, "uniform": [1, 2]}, False),
    (["workload", "lengths"], {"empirical": {"input": [1], "output": [2]}}, True),
    (["workload", "lengths"], {"empirical": {"input": [1]}}, False),
    (["workload", "prefix_hit_rate"], 0.5, False),
    (["workload"], LOAD | {"concurrency": 4, "prefix_hit_rate": 1}, False),
    (["workload", "sessions", "turns"], 0.5, False),
    (["workload"], {"arrival_rate": "4 req/s", "classes": [KIND, KIND]}, True),
    (["workload"], {"arrival_rate": "4 req/s", "classes": []}, False),
    (["workload"], {"arrival_rate": "4 req/s", "classes": [KIND | {"share": 0}]}, False),
    (["workload"], {"arrival_rate": "4 req/s", "classes": [KIND | {"size": 1}]}, False),
    (["workload"], LOAD | {"concurrency": 4, "classes": [KIND]}, False),
    (["workload"], {"batch": 4, "context_tokens": 9, "classes": [KIND]}, False),
    (["objective", "ttft_p95"], "1", False), (["objective", "ttft_p95"], "-1 s", False),
    (["objective", "ttft_p95"], "1 s/req", False),
    (["objective", "tokens_per_s_per_user"], "50 tokens/s", True),
    (["objective", "tokens_per_s_per_user"], 0, False),
    (["price", "accelerator_hour"], 2.5, False), (["price", "accelerator_hour"], "2.5 EUR", False),
    (["price", "accelerator_hour"], ".5 USD", True), (["price", "utilization"], 1.1, False),
    (["speculation", "acceptance"], ..., False), (["speculation", "draft_tokens"], 2000, False),
    (["speculation", "draft_memory"], "1 GiB", True),
    (["disaggregation", "transfer_bandwidth"], "400 Gbit/s", True),
    (["disaggregation", "transfer_bandwidth"], "400 Gb/s", False)]
ACCELERATOR_SLIPS = [
    (["id"], ..., True), (["id"], 7, False), (["colour"], "red", False), (["dense_peak"], {}, False),
    (["dense_peak", "bf61"], "1 TFLOP/s", False), (["dense_peak", "bf16"], "1 TB/s", False),
    (["dense_peak", "bf16"], "989.4 TFLOPS", True), (["memory_bandwidth"], "3.35 TB", False),
    (["memory_bandwidth"], "3.35TB/s", True), (["memory_nominal"], ..., False),
    (["memory_nominal"], "80e9", False), (["sources", "power"], 1, False), (["sources"], [], False),
    (["power"], "0.7 kW", True), (["price", "as_of"], ..., True), (["price", "as_of"], "2026", False),
    (["scale_up", "domain_size"], 0, False), (["scale_up", "bandwidth_per_direction"], ..., False),
    (["scale_out", "latency"], "0 us", True), (["launch_year"], 1999, False),
    (["unverified"], "power", False), (["aliases"], ["x", 1], False)]
NOTE = {"meaning": "m", "source": "s", "date": "d"}
ENGINE_SLIPS = [
    (["name"], ..., False), (["constants", "stpe"], {"value": "1 us", **NOTE}, False),
    (["constants", "step", "date"], ..., False), (["constants", "step", "rows"], 1.5, False),
    (["constants", "step", "value"], "0 us", True), (["defaults", "block_tokens"], 0, False),
    (["versions"], [1], False), (["earlier", 0, "before"], ..., False),
    (["earlier", 0, "after"], "1", False), (["reserves", 0, "source"], ..., False),
    (["reserves", 0, "runtime"], "1 s", False), (["reserves", 0, "state_blocks"], 0, False)]
KERNEL_SLIPS = [
    (["constants"], ..., False), (["constants", "link_share", "value"], 0, False),
    (["constants", "link_share", "value"], 1, True), (["constants", "unpack_flops", "value"], "1 TB/s", False),
    (["constants", "matmul_fixed", "source"], 1, False), (["extra"], {}, False)]
PRICE_SLIPS = [
    (["currency"], "EUR", False), (["as_of"], ..., False), (["models", "gpt-4o"], 3, False),
    (["models", "gpt-4o", "input_cost_per_token"], -1, False),
    (["models", "gpt-4o", "input_cost_per_token_above_200k_tokens"], "x", False),
    (["models", "gpt-4o", "some_other_key"], "x", True), (["note"], "x", False)]


def main():
    try:
        import jsonschema
    except ImportError:
        print("no jsonschema here")
        return 77
    load = lambda path: json.loads((SOURCE / path).read_text())
    schemas = {kind: load(f"data/schema/{kind}.json") for kind in KINDS}
    judges = {}
    for kind, schema in schemas.items():
        jsonschema.Draft202012Validator.check_schema(schema)
        judges[kind] = jsonschema.Draft202012Validator(schema)
        printed = subprocess.run([TOOL, "validate-spec", "--schema", kind], capture_output=True, text=True)
        check(json.loads(printed.stdout) == schema, f"{kind}: the tool prints another schema")

    shipped = {"accelerator": "data/accelerators/*.json", "engine": "data/engines/*.json",
               "kernels": "data/kernels.json", "prices": "data/prices/*.json",
               "scenario": "examples/specs/*.json"}
    for kind, pattern in shipped.items():
        paths = sorted(SOURCE.glob(pattern))
        check(paths, f"no {pattern}")
        for path in paths:
            for error in judges[kind].iter_errors(json.loads(path.read_text())):
                faults.append(f"{path.name}: {list(error.absolute_path)}: {error.message[:200]}")
        for path in paths[:3] + paths[-3:]:
            run = subprocess.run([TOOL, "validate-spec", path, "--json"], capture_output=True, text=True)
            check(run.returncode == 0 and json.loads(run.stdout)["kind"] == kind,
                  f"{path.name} is not recognised as {kind}: {run.stdout[:200]}{run.stderr}")

    # Every name of a format that the schema has is read, and it has every one that is offered.
    formats = schemas["scenario"]["$defs"]["format"]["enum"]
    offered = subprocess.run([TOOL, "completion", "words", "--", "model", "x", "--kv-dtype", ""],
                             capture_output=True, text=True).stdout.split()[1:]
    check(len(offered) > 20 and set(offered) <= set(formats),
          f"formats missing: {set(offered) - set(formats)}")
    engine = load("data/engines/vllm.json")
    engine["constants"] = load("data/engines/default.json")["constants"]
    bases = {"scenario": (SCENARIO, SCENARIO_SLIPS + [(["precision", "weights"], name, True)
                                                       for name in formats]),
             "accelerator": (load("data/accelerators/h100-sxm-80gb.json"), ACCELERATOR_SLIPS),
             "engine": (engine, ENGINE_SLIPS), "kernels": (load("data/kernels.json"), KERNEL_SLIPS),
             "prices": (load("data/prices/api.json"), PRICE_SLIPS)}
    objects = {"scenario": [[], ["engine"], ["engine", "constants"], ["engine", "constants", "step"],
                            ["precision"], ["deployment"], ["workload"], ["workload", "sessions"],
                            ["objective"], ["price"], ["speculation"], ["disaggregation"]],
               "accelerator": [[], ["dense_peak"], ["scale_up"], ["price"], ["capex"]],
               "engine": [[], ["defaults"], ["constants"], ["constants", "step"], ["earlier", 0],
                          ["reserves", 0]],
               "kernels": [[], ["constants"], ["constants", "link_share"]], "prices": []}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        count = 0
        for kind, (base, slips) in bases.items():
            code, message = read(kind, base, folder)
            check(code == 0, f"{kind}: the base is refused: {message}")
            for path in objects[kind]:
                known = known_keys(kind, base, path, folder)
                told = set().union(*(properties(schemas[kind], node)
                                     for node in node_at(schemas[kind], path)))
                check(known == told, f"{kind} {path}: only the reader knows {known - told}, "
                                     f"only the schema {told - known}")
            for path, new, valid in slips:
                value = changed(base, path, new)
                code, message = read(kind, value, folder)
                by_schema = judges[kind].is_valid(value)
                count += 1
                if valid is None:  # numbers beyond reason in a text: only the reader can tell
                    check(code == 3, f"{kind} {path} = {new!r}: accepted")
                else:
                    check(code == (0 if valid else 3), f"{kind} {path} = {new!r}: reader says {code} {message}")
                    check(by_schema == valid, f"{kind} {path} = {new!r}: schema says {by_schema}")
    for fault in faults:
        print(fault)
    print(f"{count} slips, {len(faults)} faults")
    return 1 if faults else 0


sys.exit(main())
