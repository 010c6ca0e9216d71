"""Good specs: the keys and known numbers of JSON answers, the other formats, the quiet streams."""
import csv
import io
import json

import tool

STEP = {"batch": 1, "context_tokens": 2048}
H100 = json.loads((tool.SOURCE / "data/accelerators/h100-sxm-80gb.json").read_text())


def nulls(value, path=""):
    """Paths of every null below `value`."""
    if value is None:
        yield path
    items = value.items() if isinstance(value, dict) else (
        enumerate(value) if isinstance(value, list) else ())
    for key, inner in items:
        yield from nulls(inner, f"{path}.{key}" if path else str(key))


class Estimate(tool.ToolTest):
    def ideal(self, spec):
        return self.answer("estimate", self.write("s.json", spec), "--fidelity", "ideal")

    def test_keys(self):
        answer = self.answer("estimate", tool.EXAMPLE)
        self.assertEqual(answer["schema"], "tokenroof/estimate/1")
        self.assertIn("tokenroof_version", answer)
        for group, keys in {
                "verdict": "outcome reason remedy",
                "memory": "weights_bytes_per_device kv_pool_bytes_per_device kv_tokens "
                          "max_concurrency max_context",
                "decode": "step_s tokens_per_s_per_sequence tokens_per_s_total bound breakdown",
                "prefill": "time_s tokens_per_s bound",
                "serving": "concurrency ttft_s tpot_s request_rate_per_s utilization stable",
                "limits": "ridge_flop_per_byte critical_batch crossover_weights_context "
                          "crossover_compute_context crossover_compute_context_with_attention "
                          "latency_floor_s",
                "economics": "usd_per_mtok_input usd_per_mtok_output usd_per_mtok_total",
                "error_band": "p10 p90"}.items():
            self.assertLessEqual(set(keys.split()), set(answer[group]), group)
        self.assertLessEqual({"mean", "p50", "p95", "p99"}, set(answer["serving"]["ttft_s"]))
        self.assertLessEqual({"operator", "time_s", "share", "bound", "flops", "weight_bytes",
                              "cache_bytes"}, set(answer["decode"]["breakdown"][0]))

    def test_sums(self):
        answer = self.answer("estimate", tool.EXAMPLE)
        memory = answer["memory"]
        self.assertEqual(sum(line["bytes"] for line in memory["lines"]), memory["visible_bytes"])
        for fidelity in ("ideal", "roofline", "calibrated"):
            decode = self.answer("estimate", tool.EXAMPLE, "--fidelity", fidelity)["decode"]
            self.assertAlmostEqual(sum(line["time_s"] for line in decode["breakdown"]),
                                   decode["step_s"], delta=1e-9 * decode["step_s"])

    def test_every_null_has_its_reason(self):
        closed = ["--set", "workload.arrival_rate=null", "--set", "workload.concurrency=64"]
        for code, changes in ((0, []), (0, closed), (0, ["--fidelity", "ideal"]),
                              (1, ["--set", "deployment.tensor_parallel=3"]),
                              (1, ["--set", "deployment.tensor_parallel=1"]),
                              (1, ["--set", "workload.arrival_rate=900 req/s"])):
            answer = self.answer("estimate", tool.EXAMPLE, *changes, code=code)
            reasons = {entry["metric"]: entry["reason"] for entry in answer["missing"]}
            self.assertEqual(sorted(nulls(answer)), sorted(reasons), changes)
            self.assertNotIn("", reasons.values())

    def test_known_numbers(self):
        half = {"weights": "fp16", "kv_cache": "fp16"}
        llama = self.ideal({"model": "llama-2-7b", "accelerator": "a100-sxm-80gb",
                            "precision": half, "workload": STEP})
        self.assertAlmostEqual(llama["decode"]["step_s"], 7.007e-3, delta=0.5e-6)
        mixtral = self.ideal({"model": "mixtral-8x7b", "accelerator": "h100-sxm-80gb",
                              "precision": {"weights": "bf16"},
                              "deployment": {"tensor_parallel": 8},
                              "workload": STEP | {"batch": 32}})
        self.assertAlmostEqual(mixtral["decode"]["step_s"], 3.80e-3, delta=5e-6)
        self.assertAlmostEqual(mixtral["limits"]["ridge_flop_per_byte"], 295.34, delta=0.005)

    def test_concurrency_of_nominal_and_visible_memory(self):
        spec = {"model": "llama-3.1-70b", "accelerator": "h100-sxm-80gb",
                "engine": {"name": "default", "memory_fraction": 0.9, "reserve": "0 B"},
                "precision": {"weights": "bf16", "kv_cache": "bf16"},
                "deployment": {"tensor_parallel": 8},
                "workload": STEP | {"context_tokens": 8192}}
        self.assertEqual(self.ideal(spec)["memory"]["max_concurrency"], 175)
        spec["accelerator"] = H100 | {"memory_visible": "80 GB"}
        self.assertEqual(self.ideal(spec)["memory"]["max_concurrency"], 162)

    def test_formats_and_streams(self):
        text = self.run_tool("estimate", tool.EXAMPLE)
        self.assertEqual((text.returncode, text.stderr), (0, ""))
        self.assertNotIn("\033", text.stdout)
        for word in ("It fits", "KV pool", "Decode step", "time to first token", "Landmarks",
                     "Cost", "Defaults and notes"):
            self.assertIn(word, text.stdout)
        self.assertLess(len(text.stdout.splitlines()), 68)
        self.assertIn("| --- |", self.run_tool("estimate", tool.EXAMPLE, "--format",
                                               "markdown").stdout)

        self.assertEqual(self.run_tool("estimate", tool.EXAMPLE, "-o", "a.csv").stdout, "")
        self.assertEqual(self.files(), ["a.csv"])
        raw = (self.folder / "a.csv").read_bytes().decode()
        self.assertEqual(raw.count("\r\n"), 2)
        row = next(csv.DictReader(io.StringIO(raw)))
        answer = self.answer("estimate", tool.EXAMPLE)
        self.assertEqual(float(row["decode_step_s"]), answer["decode"]["step_s"])
        self.assertEqual((row["status"], row["schema_version"]), ("feasible", "1"))

        with open(tool.EXAMPLE, encoding="utf-8") as spec:
            piped = self.answer("estimate", "-", stdin=spec.read())
        self.assertEqual(piped["decode"]["step_s"], answer["decode"]["step_s"])


class Model(tool.ToolTest):
    def test_llama_70b(self):
        answer = self.answer("model", "llama-3.1-70b", "--context", "128Ki")
        self.assertEqual(answer["schema"], "tokenroof/model/1")
        for key, value in {"total_parameters": 70_553_706_496, "active_parameters": 70_553_706_496,
                           "matmul_parameters": 69_501_714_432, "kv_bytes_per_token": 327_680,
                           "kv_bytes_per_token_all_layers": 327_680, "indexer_bytes_per_token": 0,
                           "kv_bytes_at_context": 327_680 * 131_072, "state_bytes_per_sequence": 0,
                           "attention_flops_per_context_token": 2 * 64 * 256 * 80}.items():
            self.assertEqual(answer[key], value, key)
        self.assertEqual(sum(answer["parameters"].values()), answer["total_parameters"])
        self.assertEqual(sum(layer["count"] for layer in answer["layers"]), 80)
        reasons = {entry["metric"] for entry in answer["missing"]}
        self.assertEqual(set(nulls(answer)), reasons)

    def test_narrow_cache_and_other_sources(self):
        fp8 = self.answer("model", "llama-3.1-70b", "--kv-dtype", "fp8")
        self.assertEqual(fp8["kv_bytes_per_token"], 163_840)
        folder = self.folder / "checkpoint"
        folder.mkdir()
        config = (tool.SOURCE / "data/models/llama-3.1-8b.json").read_text()
        (folder / "config.json").write_text(config)
        for name in ("./checkpoint", "checkpoint/config.json"):
            self.assertEqual(self.answer("model", name)["total_parameters"], 8_030_261_248)
        piped = self.answer("model", "-", stdin=config)
        self.assertEqual(piped["total_parameters"], 8_030_261_248)

    def test_assumed_family(self):
        config = json.loads((tool.SOURCE / "data/models/llama-3.1-8b.json").read_text())
        config["architectures"] = ["UnheardOfForCausalLM"]
        config["model_type"] = "unheard_of"
        name = self.write("config.json", config)
        self.assertEqual(self.run_tool("model", name).returncode, 3)
        answer = self.answer("model", name, "--assume", "llama")
        self.assertEqual(answer["total_parameters"], 8_030_261_248)


class Others(tool.ToolTest):
    def test_simulate(self):
        answer = self.answer("simulate", tool.EXAMPLE, "--requests", "2000", "--seed", "7")
        self.assertEqual(answer["run"]["completed"], 2000)
        self.assertEqual(list(nulls(answer)), [])
        again = self.answer("simulate", tool.EXAMPLE, "--requests", "2000", "--seed", "7")
        self.assertEqual(answer, again)
        run = self.run_tool("simulate", tool.EXAMPLE, "--requests", "50", "--format", "csv")
        rows = list(csv.DictReader(io.StringIO(run.stdout)))
        self.assertEqual(len(rows), 50)
        self.assertGreater(float(rows[0]["ttft_s"]), 0)

    def test_simulate_needs_traffic(self):
        spec = self.write("s.json", {"model": "llama-2-7b", "accelerator": "a100-sxm-80gb",
                                     "workload": STEP})
        run = self.run_tool("simulate", spec)
        self.assertEqual(run.returncode, 3)
        self.assertIn("s.json: /workload: a simulation needs traffic", run.stderr)

    def test_replay_of_a_trace(self):
        trace = self.write("t.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                                    "2023-11-16 18:17:03.9799600,374,44\n"
                                    "2023-11-16 18:17:04.0319600,396,109\n")
        answer = self.answer("simulate", tool.EXAMPLE, "--trace", trace)
        self.assertEqual(answer["run"]["generated_tokens"], 153)

    def test_lists(self):
        models = self.answer("list", "models")["models"]
        self.assertIn("llama-3.1-70b", [model["id"] for model in models])
        devices = self.answer("list", "accelerators")["accelerators"]
        self.assertGreater(len(devices), 5)
        self.answer("list", "engines")
        metrics = self.answer("list", "metrics")["metrics"]
        self.assertIn("decode.step_s", [metric["metric"] for metric in metrics])

    def test_list_of_prices(self):
        prices = {row["name"]: row for row in self.answer("list", "prices")["prices"]}
        self.assertEqual(prices["gpt-4o"]["provider"], "openai")
        self.assertAlmostEqual(prices["gpt-4o"]["output_usd_per_mtok"], 10)
        self.assertRegex(prices["gpt-4o"]["as_of"], r"^\d{4}-\d\d-\d\d$")
        run = self.run_tool("bill", tool.EXAMPLE, "--api", "gpt5")
        self.assertEqual(run.returncode, 3)
        self.assertIn('did you mean "gpt-4o"', run.stderr)
        self.assertIn("tokenroof list prices",
                      self.run_tool("bill", tool.EXAMPLE, "--api", "nosuch").stderr)

    def test_a_unit_behind_an_axis_is_that_of_all(self):
        def rates(values):
            run = self.run_tool("sweep", tool.EXAMPLE, "--metric", "decode.step_s", "--axis",
                                "workload.arrival_rate=" + values)
            self.assertEqual((run.returncode, run.stderr), (0, ""), values)
            return [float(row["workload_arrival_rate_req_per_s"])
                    for row in csv.DictReader(io.StringIO(run.stdout))]
        self.assertEqual(rates("1:8:x2 req/s"), [1, 2, 4, 8])
        self.assertEqual(rates("1:3:+1 req/s"), [1, 2, 3])
        self.assertEqual(rates("1,2:4:x2,5 req/s"), [1, 2, 4, 5])
        self.assertEqual(rates("1 req/s:2 req/s:x2"), [1, 2])
        plain = self.run_tool("sweep", tool.EXAMPLE, "--axis", "workload.arrival_rate=1,2")
        self.assertEqual(plain.returncode, 3)
        self.assertIn("--axis 'workload.arrival_rate=1:8:x2 req/s'", plain.stderr)
        mixed = self.run_tool("sweep", tool.EXAMPLE, "--axis", "workload.arrival_rate=1 s:2 req/s:x2")
        self.assertIn("same unit", mixed.stderr)

    def test_what_a_simulation_says_of_the_objective(self):
        few = ("simulate", tool.EXAMPLE, "--requests", "200")
        title, verdict = self.run_tool(*few).stdout.splitlines()[:2]
        self.assertIn("H100 SXM5 80GB (TP 8), vllm", title)
        self.assertIn("meets the objective", verdict)
        without = self.run_tool(*few, "--set", "objective=null").stdout.splitlines()[1]
        self.assertIn("states no objective", without)
        self.assertNotIn("meets", without)

    def test_scenarios_at_their_objectives(self):
        other = self.write("b.json", (tool.SOURCE / "examples/specs/llama-70b-8xh100.json")
                           .read_text().replace('"4 req/s"', '"2 req/s"'))
        a, b = self.answer("compare", tool.EXAMPLE, other)["candidates"]
        at = {key: value for key, value in a["metrics"].items() if key.startswith("at_objective.")}
        rate = a["metrics"]["serving.objective_rate_per_s"]
        self.assertEqual(at["at_objective.request_rate_per_s"], rate)
        self.assertAlmostEqual(at["at_objective.usd_per_mtok_total"],
                               20 / 3600 * 1e6 / (rate * 1536 * 0.6))
        self.assertAlmostEqual(at["at_objective.output_tokens_per_s_per_device"], rate * 512 / 8)
        for key, value in at.items():  # the load that is asked for does not enter
            self.assertAlmostEqual(b["metrics"][key] / value, 1, delta=1e-6)
        answer = self.answer("compare", tool.EXAMPLE, other, "--set", "objective=null")
        reasons = {one["metric"]: one["reason"] for one in answer["candidates"][0]["missing"]}
        self.assertIn("no objective", reasons["at_objective.usd_per_mtok_total"])

    def test_validate_spec(self):
        answer = self.answer("validate-spec", tool.EXAMPLE)
        self.assertTrue(answer["valid"])
        self.assertEqual(self.run_tool("validate-spec", "none.json").returncode, 3)

    def test_validate(self):
        rows = self.write("m.csv", "file,published_total_params,"
                                   "derived_total_params_text_decoder,"
                                   "derived_kv_bytes_per_token_bf16_all_attn_layers_no_window\n"
                                   "llama-3.1-70b.json,70553706496,70553706496,327680\n")
        answer = self.answer("validate", rows)
        self.assertEqual((answer["kind"], answer["evaluated"]), ("models", 1))
        self.assertEqual(answer["metrics"]["total_parameters"]["median_ape"], 0)

    def test_calibrate(self):
        head = ("id,model_config,gpu,engine,weight_dtype,gemm_dtype,expert_dtype,input_tokens,"
                "output_tokens,concurrency,tp,attention_dp,moe_tp,ep,lengths,tpot_ms,ttft_ms\n")
        rows = [f"r{c},llama-3.1-8b.json,h100-sxm-80gb,vllm,bf16,bf16,bf16,1024,1024,{c},1,1,1,1,"
                f"fixed,{8 + 0.05 * c},{60 + c}" for c in (1, 4, 16, 64)]
        name = self.write("m.csv", head + "\n".join(rows) + "\n")
        answer = self.answer("calibrate", name, "--engine", "vllm", "--constant", "per_layer",
                             "--profile", "mine.json")
        self.assertEqual(answer["rows"], 8)
        self.assertTrue(answer["constants"][0]["fitted"])
        mine = self.answer("estimate", tool.EXAMPLE, "--set", "engine=mine.json")
        self.assertNotEqual(mine["decode"]["step_s"],
                            self.answer("estimate", tool.EXAMPLE)["decode"]["step_s"])

    def test_help_of_every_verb(self):
        run = self.run_tool("--help")
        self.assertEqual(run.returncode, 0)
        for verb in ("model", "estimate", "simulate", "validate", "validate-spec", "calibrate",
                     "list"):
            self.assertIn(f"  {verb} ", run.stdout)
            self.assertIn("Examples:\n  tokenroof ", self.run_tool(verb, "--help").stdout)
        self.assertRegex(self.run_tool("--version").stdout, r"^tokenroof \d+\.\d+\.\d+\n$")

    def test_own_data_folder(self):
        (self.folder / "models").mkdir()
        text = (tool.SOURCE / "data/models/llama-2-7b.json").read_text()
        (self.folder / "models/mine.json").write_text(text)
        by_option = self.answer("list", "models", "--data", ".")["models"]
        by_variable = self.answer("list", "models", TOKENROOF_DATA=".")["models"]
        self.assertEqual([model["id"] for model in by_option], ["mine"])
        self.assertEqual(by_option, by_variable)


if __name__ == "__main__":
    tool.main()
