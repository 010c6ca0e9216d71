#!/usr/bin/env python3
"""Workbooks of `export xlsx`, recalculated by LibreOffice and Gnumeric.

Cached values are the library's; after input cells have changed, both programs must get what the
library answers to the same change, to 1e-9. Exit 77: no LibreOffice, Gnumeric or openpyxl.
"""
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import warnings

try:
    import openpyxl
except ImportError:  # Debian's module is Debian's interpreter's
    if not os.path.exists("/usr/bin/python3") or os.environ.get("TOKENROOF_XLSX_AGAIN"):
        print("no openpyxl here")
        sys.exit(77)
    os.environ["TOKENROOF_XLSX_AGAIN"] = "1"
    os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])

warnings.filterwarnings("ignore", module="openpyxl")  # of styles that other programs wrote
TOOL = pathlib.Path(sys.argv[1]).resolve()
SHEETS = ["inputs", "assumptions", "calc", "results", "sources", "charts"]

DENSE = {"model": "llama-3.1-70b", "accelerator": "h100-sxm-80gb", "engine": "vllm",
         "deployment": {"tensor_parallel": 8},
         "workload": {"input_tokens": 1024, "output_tokens": 512, "arrival_rate": "4 req/s"},
         "objective": {"ttft_p95": "1 s", "tpot_p95": "50 ms"},
         "price": {"accelerator_hour": "2.50 USD", "utilization": 0.6}}
MIXTURE = {"model": "deepseek-r1", "accelerator": "h200-sxm-141gb", "engine": "sglang",
           "deployment": {"attention_data_parallel": 8, "expert_parallel": 8},
           "workload": {"input_tokens": 2000, "output_tokens": 800, "concurrency": 512,
                        "prefix_hit_rate": 0.25},
           "price": {"accelerator_hour": "3.1 USD"}}
ONE_STEP = {"model": "llama-3.1-8b", "accelerator": "rtx-4090",
            "workload": {"batch": 4, "context_tokens": 4000}, "price": {"accelerator_hour": "0.5 USD"}}
# Windows beside full attention, two stages, drafts, lengths that vary.
WINDOWS = {"model": "gemma-3-27b", "accelerator": "a100-sxm-80gb", "engine": "vllm",
           "deployment": {"tensor_parallel": 2, "pipeline_parallel": 2, "replicas": 3},
           "workload": {"input_tokens": 3000, "output_tokens": 400, "concurrency": 96,
                        "lengths": "geometric"},
           "speculation": {"draft_tokens": 3, "acceptance": 0.7, "draft_cost": 0.05},
           "price": {"accelerator_hour": "1.9 USD"}}
NO_PRICE = {"model": "qwen3-next-80b-a3b", "accelerator": {
    "id": "=cmd", "name": "+card", "vendor": "-", "architecture": "hopper",
    "dense_peak": {"bf16": "989 TFLOP/s"}, "memory_bandwidth": "3.35 TB/s",
    "memory_nominal": "80 GB", "memory_visible": "79 GiB",
    "scale_up": {"link": "nvlink4", "bandwidth_per_direction": "450 GB/s", "domain_size": 8,
                 "switched": True}},
    "deployment": {"tensor_parallel": 4},
    "workload": {"input_tokens": 500, "output_tokens": 100, "arrival_rate": "2 req/s"}}

# Name, scenario, fidelity, changes: cells and the assignments that mean the same. "batch" of an open
# loop is the queue's: the test takes it from the library. Keys that may not follow come last.
QUEUE = ("serving.utilization",)
CASES = [
    ("dense", DENSE, "ideal", [
        ({}, [], ()),
        ({"memory_bandwidth_tb_s": 6.7, "peak_bf16_tflop_s": 1500, "output_tokens": 700,
          "input_tokens": 2000, "arrival_rate": 6, "price_usd_per_hour": 3.25},
         ["accelerator.memory_bandwidth=6.7 TB/s", "accelerator.dense_peak.bf16=1500 TFLOP/s",
          "workload.output_tokens=700", "workload.input_tokens=2000",
          "workload.arrival_rate=6 req/s", "price.accelerator_hour=3.25 USD"], QUEUE)]),
    ("dense_calibrated", DENSE, "calibrated", [
        ({"price_usd_per_hour": 3.1, "utilization": 0.85},
         ["price.accelerator_hour=3.1 USD", "price.utilization=0.85"], ()),
        ({"arrival_rate": 5.5}, ["workload.arrival_rate=5.5 req/s"],
         ("decode.", "economics.", "limits.crossover_weights"))]),
    ("mixture", MIXTURE, "ideal", [
        ({}, [], ()),
        ({"concurrency": 96, "output_tokens": 1500, "memory_bandwidth_tb_s": 9.6,
          "prefix_hit_rate": 0.5},
         ["workload.concurrency=96", "workload.output_tokens=1500",
          "accelerator.memory_bandwidth=9.6 TB/s", "workload.prefix_hit_rate=0.5"], ()),
        ({"memory_visible_gib": 120, "concurrency": 4000},
         ["accelerator.memory_visible=120 GiB", "workload.concurrency=4000"], ())]),
    ("mixture_calibrated", MIXTURE, "calibrated", [
        ({}, [], ()),
        ({"price_usd_per_hour": 9.99}, ["price.accelerator_hour=9.99 USD"], ())]),
    ("one_step", ONE_STEP, "ideal", [
        ({}, [], ()),
        ({"batch": 7, "context_tokens": 900, "utilization": 0.3, "memory_bandwidth_tb_s": 0.5},
         ["workload.batch=7", "workload.context_tokens=900", "price.utilization=0.3",
          "accelerator.memory_bandwidth=0.5 TB/s"], ()),
        ({"batch": 5000}, ["workload.batch=5000"], ())]),
    ("windows", WINDOWS, "ideal", [
        ({}, [], ()),
        ({"output_tokens": 900, "concurrency": 30, "acceptance": 0.9, "replicas": 2},
         ["workload.output_tokens=900", "workload.concurrency=30", "speculation.acceptance=0.9",
          "deployment.replicas=2"], ())]),
    ("no_price", NO_PRICE, "roofline", [({}, [], ())]),
]


def run(*arguments, code=(0,)):
    done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode in code, (arguments, done.returncode, done.stderr)
    return done


def answer(scenario, fidelity, sets):
    arguments = [part for one in sets for part in ("--set", one)]
    return json.loads(run("estimate", scenario, "--fidelity", fidelity, "--json", *arguments,
                          code=(0, 1)).stdout)


def value_at(tree, key):
    for part in key.split("."):
        tree = tree.get(part) if isinstance(tree, dict) else None
    return tree


def close(x, y, tolerance=1e-9):
    empty = (None, "")
    if x in empty or y in empty:
        return x in empty and y in empty
    return math.isclose(float(x), float(y), rel_tol=tolerance, abs_tol=1e-300)


def cells(book, names=None):
    """Name -> value of its cell, of `names` or of all; each must lead to one cell."""
    if names is None:
        names = [name.name for name in book.defined_names.definedName
                 if not name.name.startswith("_xlnm")]  # titles of pages and filters
    found = {}
    for name in names:
        (sheet, place), = book.defined_names[name].destinations
        found[name] = book[sheet][place.replace("$", "")].value
    return found


def live_results(book):
    rows = book["results"].iter_rows(min_row=5, max_col=6)
    return {row[0].value: [cell.value for cell in row[1:]] for row in rows if row[0].value}


def no_errors(book, where):
    for sheet in book:
        for row in sheet.iter_rows():
            for cell in row:
                assert not (isinstance(cell.value, str) and cell.value.startswith("#")), (
                    where, sheet.title, cell.coordinate, cell.value)


def name_of_device(book):
    """The accelerator's id in sheet sources; a text, whatever it looks like."""
    cell = next(row[1] for row in book["sources"].iter_rows() if row[0].value == "accelerator")
    assert cell.data_type == "s", cell.data_type
    return cell.value


def check_written(path, library, where):
    """Before any recalculation: structure, and cached values that are the library's."""
    formulas, cached = openpyxl.load_workbook(path), openpyxl.load_workbook(path, data_only=True)
    assert formulas.sheetnames == SHEETS, formulas.sheetnames
    assert len(formulas["charts"]._charts) == 2
    no_errors(cached, where)
    names, live = cells(cached), live_results(cached)
    for key, (exported, now, _, _, reason) in live.items():
        expected = value_at(library, key)
        assert close(exported, expected, 1e-14), (where, key, exported, expected)
        assert now is None or close(now, expected), (where, key, now, expected)
        assert expected is not None or reason, (where, key, "empty without a reason")
    for sheet in formulas:
        assert sheet.freeze_panes or sheet.title in ("assumptions", "charts"), sheet.title
    device = json.loads(path.with_suffix(".json").read_text())["accelerator"]
    assert name_of_device(formulas) == (device["id"] if isinstance(device, dict) else device)
    return names


def changed_copy(source, target, changes):
    book = openpyxl.load_workbook(source)
    for name, value in changes.items():
        (sheet, place), = book.defined_names[name].destinations
        book[sheet][place.replace("$", "")].value = value
    book.save(target)  # without cached values: who reads it must calculate


def same_everywhere(source, book, where):
    """Every formula of an unchanged workbook gives its cached value again; how many there are."""
    formulas, cached = openpyxl.load_workbook(source), openpyxl.load_workbook(source, data_only=True)
    count = 0
    for sheet in formulas:
        for cell in (cell for row in sheet.iter_rows() for cell in row if cell.data_type == "f"):
            before = cached[sheet.title][cell.coordinate].value
            after = book[sheet.title][cell.coordinate].value
            same = before == after if isinstance(before, str) else close(before, after)
            assert same, (where, sheet.title, cell.coordinate, before, after)
            count += 1
    return count


def fleet(scenario, library, names):
    """What calc says of the fleet, from the library's numbers alone."""
    d, serving = scenario["deployment"], library["serving"]
    per_replica = math.prod(d.get(k, 1) for k in (
        "tensor_parallel", "pipeline_parallel", "attention_data_parallel"))
    replicas = names["replicas"]
    per_node = max(1, 8 // per_replica)
    rate = serving["objective_rate_per_s"] or serving["limit_rate_per_s"]
    count = math.ceil(names["target_rate"] / (rate / replicas) - 1e-12)
    nodes = math.ceil(count / per_node) * math.ceil(per_replica / 8)
    found = {"fleet_replicas": count, "fleet_nodes": nodes, "replica_rate": rate / replicas}
    hourly = names["price_usd_per_hour"]
    if hourly:
        found["fleet_nodes_usd_per_month"] = nodes * 8 * hourly * 730
        found["fleet_replicas_usd_per_month"] = count * per_replica * hourly * 730
        found["deployment_usd_per_month"] = library["economics"]["usd_per_hour"] * 730
    if names["api_input_usd_per_mtok"]:
        prompt, output = names["prompt_tokens"], names["output_mean"]
        hit = names["prefix_hit_rate"]
        api = (prompt * (1 - hit) * 0.55 + prompt * hit * 0.14 + output * 2.19) / 1e6
        first = math.ceil(per_replica / 8) * 8 * hourly / 3600 / api
        found["api_request_usd"] = api
        found["break_even_rate"] = first if first <= rate / replicas * per_node else None
    return found


def main():
    for program in ("soffice", "ssconvert"):
        if not shutil.which(program):
            print("no", program, "here")
            return 77
    jobs = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "changed").mkdir()
        for name, scenario, fidelity, changes in CASES:
            spec, book = folder / f"{name}.json", folder / f"{name}.xlsx"
            spec.write_text(json.dumps(scenario))
            base = answer(spec, fidelity, [])
            run("export", "xlsx", spec, "--fidelity", fidelity, "-o", book, code=(0, 1))
            names = check_written(book, base, name)
            for number, (values, sets, loose) in enumerate(changes):
                library = answer(spec, fidelity, sets)
                copy = folder / "changed" / f"{name}_{number}.xlsx"
                queue = "arrival_rate" in scenario["workload"] and fidelity == "ideal"
                batch = {"batch": library["decode"]["batch"]} if queue and values else {}
                changed_copy(book, copy, values | batch)
                jobs.append((copy, scenario, library, loose, names, None if values else book))
        again = folder / "again.xlsx"
        run("export", "xlsx", folder / "dense.json", "--fidelity", "ideal", "-o", again)
        assert again.read_bytes() == (folder / "dense.xlsx").read_bytes(), "not the same bytes"

        for program in ("soffice", "ssconvert"):
            (folder / program).mkdir()
        subprocess.run(["soffice", f"-env:UserInstallation=file://{folder}/home", "--headless",
                        "--norestore", "--convert-to", "xlsx:Calc MS Excel 2007 XML", "--outdir",
                        folder / "soffice", *(job[0] for job in jobs)],
                       check=True, capture_output=True, timeout=300)
        compared = 0
        for copy, scenario, library, loose, known, original in jobs:
            has_live = {key for key, row in live_results(openpyxl.load_workbook(copy)).items()
                        if row[1] is not None}
            subprocess.run(["ssconvert", "--recalc", copy, folder / "ssconvert" / copy.name],
                           check=True, capture_output=True, timeout=120)
            for program in ("soffice", "ssconvert"):
                where = f"{copy.stem} in {program}"
                book = openpyxl.load_workbook(folder / program / copy.name, data_only=True)
                no_errors(book, where)
                assert name_of_device(book) == name_of_device(openpyxl.load_workbook(copy)), where
                names = cells(book, known)
                live = {key: row[1] for key, row in live_results(book).items()
                        if key in has_live and not key.startswith(loose or ("-",))}
                expected = {key: value_at(library, key) for key in live}
                if "concurrency" in scenario["workload"] or "arrival_rate" in scenario["workload"]:
                    if not loose:
                        for key, value in fleet(scenario, library, names).items():
                            live[key], expected[key] = names[key], value
                for key, value in live.items():
                    assert close(value, expected[key]), (where, key, value, expected[key])
                compared += len(live)
                if original:
                    compared += same_everywhere(original, book, where)
        print(f"{compared} recalculated numbers of {len(jobs)} workbooks are the library's")
    return 0


if __name__ == "__main__":
    sys.exit(main())
