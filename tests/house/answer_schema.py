#!/usr/bin/env python3
"""The schemas of data/schema/answers say what the tool answers: answer_schema.py TOOL SOURCE.

Exit 77: no jsonschema. Every answer over the examples is valid; every object is closed, so that a
new key is a fault; and every key of a schema is in some answer, so that an old one is a fault too.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

TOOL = pathlib.Path(sys.argv[1]).resolve()
SOURCE = pathlib.Path(sys.argv[2]).resolve()
SPECS = SOURCE / "examples/specs"
ONE_NODE = SPECS / "llama-70b-8xh100.json"
POOLS = SPECS / "18_separate_pools.json"
IMPORTS = SOURCE / "tests/io/import"
H100 = ["--accelerator", "h100-sxm-80gb"]
VERBS = {"estimate": [], "bill": [], "plan": ["--separate-pools", "--accelerators", "h100,b200,mi300x"],
         "simulate": ["--requests", "100"]}
# What the examples do not show: other verdicts, nulls, parts that an option adds.
MORE = [["estimate", ONE_NODE, "--fidelity", "ideal"],
        ["estimate", ONE_NODE, "--fidelity", "roofline", "--set", "objective=null"],
        ["estimate", ONE_NODE, "--set", "deployment.tensor_parallel=3"],
        ["estimate", ONE_NODE, "--set", "deployment.tensor_parallel=1"],
        ["estimate", ONE_NODE, "--set", "workload.arrival_rate=900 req/s"],
        ["bill", ONE_NODE, "--api", "deepseek-v3"], ["bill", ONE_NODE, "--api", "gpt-4o"],
        ["bill", "unpriced.json"], ["bill", "unpriced.json", "--set", "workload.output_tokens=1"],
        ["plan", ONE_NODE, "--set", "objective.tpot_p95=1 us"], ["plan", ONE_NODE],
        ["simulate", ONE_NODE, "--requests", "50", "--set", "workload.output_tokens=1"],
        ["simulate", ONE_NODE, "--requests", "50", "--set", "deployment.tensor_parallel=3"],
        ["validate", IMPORTS / "vllm_bench.json", *H100], ["validate", "models.csv"],
        *(["validate", SOURCE / f"data/validation/{name}"]
          for name in ("allreduce.csv", "capacity.csv", "attention_decode.csv"))]
MODELS = ("file,published_total_params,derived_total_params_text_decoder,"
          "derived_kv_bytes_per_token_bf16_all_attn_layers_no_window\n"
          "llama-3.1-70b.json,70553706496,70553706496,327680\nnone.json,1,1,1\n")
UNPRICED = {"model": "llama-3.1-8b", "engine": "vllm",
            "workload": {"input_tokens": 100, "output_tokens": 100, "concurrency": 4}}
faults = []


def check(good, text):
    if not good:
        faults.append(text)


def followed(schema, node):
    return schema["$defs"][node["$ref"].split("/")[-1]] if "$ref" in node else node


def closed(schema, node, path=""):
    """Every object below `node` says which keys it has."""
    if isinstance(node, dict):
        if "object" in node.get("type", []):
            check("additionalProperties" in node and (node["additionalProperties"] is False or
                  "properties" not in node), f"{schema['title']}: {path} is open")
        for key, inner in node.items():
            closed(schema, inner, f"{path}/{key}")


def meet(schema, node, value, seen):
    """Adds the keys of the schema's objects that `value` has, by the object's identity."""
    node = followed(schema, node)
    if isinstance(value, list):
        for item in value:
            meet(schema, node["items"], item, seen)
    elif isinstance(value, dict):
        for key, inner in value.items():
            named = node.get("properties", {}).get(key)
            if named is not None:
                seen.add((id(node), key))
            other = node.get("additionalProperties")
            below = named if named is not None else other if isinstance(other, dict) else None
            if below is not None:
                meet(schema, below, inner, seen)


def unmet(node, seen, path=""):
    """Keys of objects below `node` that no answer had."""
    if isinstance(node, dict):
        for key in node.get("properties", {}):
            if (id(node), key) not in seen:
                yield f"{path}/{key}"
        for key, inner in node.items():
            yield from unmet(inner, seen, f"{path}/{key}")


def objects(value):
    if isinstance(value, dict):
        yield value
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for inner in items:
        yield from objects(inner)


def main():
    try:
        import jsonschema
    except ImportError:
        print("no jsonschema here")
        return 77
    schemas = {path.stem: json.loads(path.read_text())
               for path in sorted((SOURCE / "data/schema/answers").glob("*.json"))}
    check(set(schemas) == {*VERBS, "validate"}, f"schemas of {sorted(schemas)}")
    judges, seen, counts = {}, set(), dict.fromkeys(schemas, 0)
    for verb, schema in schemas.items():
        jsonschema.Draft202012Validator.check_schema(schema)
        judges[verb] = jsonschema.Draft202012Validator(schema)
        closed(schema, schema)
        printed = subprocess.run([TOOL, "validate-spec", "--schema", verb], capture_output=True,
                                 text=True)
        check(printed.returncode == 0 and json.loads(printed.stdout) == schema,
              f"{verb}: the tool prints another schema: {printed.stderr}")
    with tempfile.TemporaryDirectory() as folder:
        device = json.loads((SOURCE / "data/accelerators/h100-sxm-80gb.json").read_text())
        device.pop("price", None)
        pathlib.Path(folder, "unpriced.json").write_text(
            json.dumps(UNPRICED | {"accelerator": device}))
        pathlib.Path(folder, "models.csv").write_text(MODELS)
        specs = sorted(SPECS.glob("*.json"))
        runs = [[verb, spec, *more] for verb, more in VERBS.items() for spec in specs] + MORE
        for arguments in runs:
            verb = arguments[0]
            run = subprocess.run([TOOL, *arguments, "--json"], capture_output=True, text=True,
                                 cwd=folder)
            check(run.returncode in (0, 1) or arguments not in MORE, f"{arguments}: {run.stderr}")
            if not run.stdout:  # no traffic or no objective, say
                continue
            answer = json.loads(run.stdout)
            counts[verb] += 1
            for error in judges[verb].iter_errors(answer):
                check(False, f"{arguments}: {list(error.absolute_path)}: {error.message[:200]}")
            meet(schemas[verb], schemas[verb], answer, seen)
            if counts[verb] == 1:  # the judge does judge
                for inner in list(objects(answer)):
                    inner["qqqqqqqqqq"] = 1
                    check(not judges[verb].is_valid(answer), f"{verb}: another key is valid")
                    del inner["qqqqqqqqqq"]
    for verb, schema in schemas.items():
        for path in unmet(schema, seen):
            check(False, f"{verb}: {path} is in no answer")
    for fault in faults:
        print(fault)
    print(f"{counts}, {len(faults)} faults")
    return 1 if faults else 0


sys.exit(main())
