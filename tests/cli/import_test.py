"""import: benchmark results and logs to rows, and on to validate and calibrate."""
import csv
import io
import json

import tool

DATA = tool.SOURCE / "tests/io/import"
SCENARIO = {"model": "llama-3.1-8b", "accelerator": "h100-sxm-80gb",
            "engine": {"name": "vllm", "version": "0.11.0", "memory_fraction": 0.95},
            "deployment": {"tensor_parallel": 2},
            "workload": {"batch": 1, "context_tokens": 8192}}
H100 = ("--accelerator", "h100-sxm-80gb")


class Import(tool.ToolTest):
    def imported(self, name, *options):
        run = self.run_tool("import", str(DATA / name), *options)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run

    def validated(self, name, *options):
        """The report by way of a pipe; the direct way must give the same predictions."""
        piped = self.answer("validate", "-", stdin=self.imported(name, *options).stdout)
        direct = self.answer("validate", str(DATA / name), *options)
        self.assertEqual(piped["metrics"], direct["metrics"])
        self.assertEqual(piped["kind"], direct["kind"])
        return direct

    def test_rows_are_csv(self):
        rows = list(csv.DictReader(io.StringIO(self.imported("vllm_bench.json", *H100).stdout)))
        self.assertEqual(len(rows), 1)
        self.assertEqual((rows[0]["ttft_ms"], rows[0]["tpot_ms"], rows[0]["tp"]),
                         ("412", "31.9", "8"))

    def test_bench_to_validate(self):
        report = self.validated("vllm_bench.json", *H100)
        self.assertEqual((report["kind"], report["evaluated"]), ("closed_loop", 1))
        self.assertEqual(set(report["metrics"]), {"tpot_ms", "ttft_ms", "residence_ms"})
        self.assertIn("lengths", " ".join(report["notes"]))

    def test_stated_facts_reach_the_prediction(self):
        def predicted(*options):
            rows = self.answer("validate", str(DATA / "vllm_bench.json"), *H100, *options)["worst"]
            return {row["metric"]: row["predicted"] for row in rows}
        usual = predicted()
        for options in (("--kv", "fp8"), ("--pp", "2"), ("--column", "requests=64"),
                        ("--weights", "fp8"), ("--engine-version", "0.6.4"), ("--tp", "4"),
                        ("--lengths", "uniform 0.2-1.0"), ("--model", "qwen2.5-72b")):
            # TTFT: how many requests started together moves it, and not the residence time.
            self.assertNotEqual(predicted(*options)["ttft_ms"], usual["ttft_ms"], options)

    def test_every_kind_of_file(self):
        load = (*H100, "--tp", "2", "--model", "qwen3-32b", "--concurrency", "4")
        for name, options, kind, rows in [("aiperf.json", (*H100, "--tp", "2"), "closed_loop", 1),
                                          ("aiperf_run.csv", load, "closed_loop", 1),
                                          ("aiperf_requests.jsonl", load, "closed_loop", 1),
                                          ("aiconfigurator_pools.csv", (), "measurements", 2),
                                          ("inferencex.json", (), "closed_loop", 2),
                                          ("aiconfigurator.csv", (), "closed_loop", 1),
                                          ("sglang.log", H100, "capacity", 1)]:
            report = self.validated(name, *options)
            self.assertEqual((report["kind"], report["evaluated"]), (kind, rows), name)

    def test_open_loop_and_throughput_rows(self):
        for kind, metric in [("open_loop", "e2e_mean_ms"),
                             ("measurements", "output_tokens_per_s_total")]:
            rows = self.imported("vllm_bench_appended.json", *H100, "--as", kind).stdout
            report = self.answer("validate", "-", stdin=rows)
            self.assertEqual((report["kind"], report["evaluated"]), (kind, 1))
            self.assertIn(metric, report["metrics"])

    def test_logged_tokens_are_those_of_the_pool(self):
        for name in ("vllm_0.7.log", "vllm_0.11_tp2.log", "llamacpp.log"):
            report = self.validated(name, *H100)
            self.assertLess(report["metrics"]["kv_tokens"]["median_ape"], 0.0005, name)

    def test_broken_lines_are_counted(self):
        run = self.imported("vllm_bench_appended.json", *H100, "--as", "closed_loop")
        self.assertIn("line 2: the object that begins here does not end", run.stderr)
        self.assertIn("1 rows, 4 skipped", run.stderr)
        quiet = self.imported("vllm_bench_appended.json", *H100, "--as", "closed_loop", "--quiet")
        self.assertEqual(quiet.stderr, "")

    def test_faults(self):
        for text, options, parts in [
                ("", (), ["x.json: is empty"]),
                ('{"a": 1}', (), ["none of the kinds", "vllm-bench"]),
                ((DATA / "vllm_bench.json").read_text(), (), ["--accelerator"])]:
            self.write("x.json", text)
            self.write("rows.csv", "as it was")
            run = self.run_tool("import", "x.json", *options, "-o", "rows.csv")
            self.assertEqual((run.returncode, run.stdout), (3, ""))
            for part in parts:
                self.assertIn(part, run.stderr)
            self.assertEqual((self.folder / "rows.csv").read_text(), "as it was")
        self.assertEqual(self.run_tool("import", "x.json", "--from", "word").returncode, 2)
        self.assertEqual(self.run_tool("import", "x.json", "--column", "tp").returncode, 2)
        self.assertEqual(self.run_tool("import", "none.json").returncode, 3)


class CalibrateLog(tool.ToolTest):
    LOG = str(DATA / "vllm_0.11_tp2.log")

    def test_lines_and_reserve(self):
        spec = self.write("s.json", SCENARIO)
        answer = self.answer("calibrate", "--log", self.LOG, spec)
        lines = {line["quantity"]: line for line in answer["lines"]}
        self.assertEqual(lines["kv_tokens"]["log_line"], 8)
        self.assertEqual(lines["kv_tokens"]["logged"], 1014160)
        self.assertEqual(lines["kv_tokens_in_logged_pool"]["predicted"], 1014160)
        self.assertLess(abs(lines["weights"]["error"]), 0.005)
        # The override is one that scenarios take, and it gives the logged pool.
        estimate = self.answer("estimate", spec, "--set", answer["overrides"][0])
        self.assertAlmostEqual(estimate["memory"]["kv_pool_bytes_per_device"],
                               61.90 * 2**30, delta=2)

    def test_no_reserve_from_another_layout_or_model(self):
        for change, reason in (({"deployment": {"tensor_parallel": 4}},
                                "deployment.tensor_parallel 2, the scenario has 4"),
                               ({"model": "llama-3.1-70b"}, "other weights"),
                               ({"precision": {"weights": "fp8"}}, "other weights")):
            answer = self.answer("calibrate", "--log", self.LOG,
                                 self.write("s.json", SCENARIO | change))
            self.assertIsNone(answer["reserve_bytes"])
            self.assertEqual(answer["overrides"], [])
            reasons = {entry["metric"]: entry["reason"] for entry in answer["missing"]}
            self.assertIn(reason, reasons["reserve_bytes"])

    def test_formats(self):
        spec = self.write("s.json", SCENARIO)
        table = self.run_tool("calibrate", "--log", self.LOG, spec).stdout
        self.assertIn("GPU KV cache size: 1,014,160 tokens", table + " ")
        rows = list(csv.DictReader(io.StringIO(
            self.run_tool("calibrate", "--log", self.LOG, spec, "--format", "csv").stdout)))
        self.assertEqual(rows[-1]["quantity"], "reserve")
        self.assertEqual(self.run_tool("calibrate", "--log", "none.log", spec).returncode, 3)

    def test_benchmarks_are_rows_too(self):
        lines = []
        bench = json.loads((DATA / "vllm_bench.json").read_text())
        for concurrency in (1, 4, 16, 64, 256):
            lines.append(json.dumps(bench | {
                "max_concurrency": concurrency, "mean_tpot_ms": 12 + 0.3 * concurrency,
                "mean_ttft_ms": 60 + 5 * concurrency}))
        self.write("runs.json", "\n".join(lines))
        run = self.run_tool("calibrate", "runs.json", *H100, "--engine", "vllm", "--constant",
                            "step", "--json")
        self.assertEqual(json.loads(run.stdout)["rows"], 10, run.stderr)


tool.main()
