"""Bad specs: exit 3 and one clear message a fault, or exit 1 and a verdict; -o stays untouched."""
import tool

GOOD = {"model": "llama-3.1-8b", "accelerator": "h100-sxm-80gb",
        "workload": {"input_tokens": 1024, "output_tokens": 512, "concurrency": 8}}


def changed(**parts):
    return GOOD | parts


class BadFile(tool.ToolTest):
    def refused(self, spec, *lines):
        """`spec` must be refused with exactly these lines, each given by the parts it contains."""
        if spec is not None:
            self.write("s.json", spec)
        self.write("out.json", "as it was")
        before = self.files()
        run = self.run_tool("estimate", "s.json", "-o", "out.json")
        self.assertEqual((run.returncode, run.stdout), (3, ""), run.stderr)
        found = run.stderr.splitlines()
        self.assertEqual(len(found), len(lines), run.stderr)
        for line, parts in zip(found, lines):
            for part in ("s.json: ", *parts):
                self.assertIn(part, line)
        self.assertEqual(self.files(), before)
        self.assertEqual((self.folder / "out.json").read_text(), "as it was")

    def test_missing_file(self):
        self.refused(None, ["no such file"])

    def test_empty_file(self):
        self.refused("", ["empty"])

    def test_not_json(self):
        self.refused("hello", ["line 1, column 1", "not JSON"])

    def test_trailing_garbage(self):
        self.refused('{"model": "llama-3.1-8b"}\nx', ["line 2, column 1", "after the end"])

    def test_duplicate_key(self):
        self.refused('{"model": "llama-3.1-8b", "model": "llama-2-7b"}', ["/model", "given twice"])

    def test_misspelt_key(self):
        self.refused({**GOOD, "presicion": {}}, ["/presicion", 'did you mean "precision"?'])

    def test_misspelt_name(self):
        self.refused(changed(accelerator="h100-sxm-80g"), ["/accelerator", '"h100-sxm-80gb"'])

    def test_every_fault_at_once(self):
        self.refused(changed(accelerator=7, deployment={"tensor_parallel": "two"}),
                     ["/accelerator", "expected a name", "found 7"],
                     ["/deployment/tensor_parallel", "expected a whole number", '"two"'])

    def test_amount_for_a_rate(self):
        run = self.run_tool("estimate", tool.EXAMPLE, "--set", "accelerator.memory_bandwidth=80GB")
        self.assertEqual(run.returncode, 3)
        for part in ("/accelerator/memory_bandwidth", '"3.35 TB/s"', 'found "80GB"'):
            self.assertIn(part, run.stderr)

    def test_negative_and_zero(self):
        self.refused(changed(deployment={"tensor_parallel": -1}),
                     ["/deployment/tensor_parallel", "found -1"])
        self.refused(changed(engine={"name": "default", "memory_fraction": 0}),
                     ["/engine/memory_fraction", "found 0"])

    def test_numbers_that_are_none(self):
        text = '{"model": "llama-3.1-8b", "accelerator": "l4", "price": {"utilization": %s}}'
        self.refused(text % "1e400", ["line 1", "1e400"])
        self.refused(text % "NaN", ["line 1", "NaN"])
        self.refused(changed(price={"accelerator_hour": "nan USD"}),
                     ["/price/accelerator_hour", "nan USD"])

    def test_batch_zero(self):
        self.refused(changed(workload={"batch": 0, "context_tokens": 0}),
                     ["/workload/batch", "at least 1", "found 0"])

    def test_places_that_cannot_be_written_or_read(self):
        run = self.run_tool("estimate", tool.EXAMPLE, "-o", "none/out.json")
        self.assertEqual(run.returncode, 3)
        self.assertIn("none/out.json: cannot be written", run.stderr)
        run = self.run_tool("estimate", tool.EXAMPLE, "--data", "none")
        self.assertEqual(run.returncode, 3)
        self.assertIn("none", run.stderr)


class Verdicts(tool.ToolTest):
    """Good files about what cannot be: exit 1, the reason and the smallest change."""

    def verdict(self, spec, outcome):
        json = self.answer("estimate", self.write("s.json", spec), code=1)
        self.assertEqual(json["verdict"]["outcome"], outcome)
        return json["verdict"]["reason"], json["verdict"]["remedy"]

    def test_more_tensor_parallel_than_heads(self):
        reason, remedy = self.verdict(changed(deployment={"tensor_parallel": 64}), "invalid_layout")
        self.assertIn("32", reason)
        self.assertIn("tensor_parallel 32", remedy)

    def test_tensor_parallel_that_does_not_divide_heads(self):
        reason, remedy = self.verdict(changed(deployment={"tensor_parallel": 3}), "invalid_layout")
        self.assertIn("tensor_parallel 3 does not divide", reason)
        self.assertIn("tensor_parallel 2", remedy)

    def test_a_model_that_does_not_fit(self):
        reason, remedy = self.verdict(changed(model="llama-3.1-70b"), "does_not_fit")
        self.assertRegex(reason, r"\d+\.\d+ GiB too little")
        self.assertIn("tensor_parallel 2", remedy)

    def test_a_batch_that_does_not_fit(self):
        reason, remedy = self.verdict(changed(workload={"batch": 100000, "context_tokens": 8192}),
                                      "context_does_not_fit")
        self.assertIn("use a batch of at most", remedy)

    def test_too_many_arrivals(self):
        load = {"input_tokens": 1024, "output_tokens": 512, "arrival_rate": "5000 req/s"}
        self.verdict(changed(workload=load), "unstable")

    def test_an_objective_that_is_missed(self):
        self.verdict(changed(objective={"tpot_mean": "1 us"}), "below_latency_floor")

    def test_a_simulation_of_what_does_not_fit(self):
        spec = self.write("s.json", changed(model="llama-3.1-70b"))
        json = self.answer("simulate", spec, code=1)
        self.assertEqual(json["verdict"]["outcome"], "does_not_fit")
        self.assertIsNone(json["serving"]["ttft_s"]["p95"])


class Usage(tool.ToolTest):
    def wrong(self, *arguments):
        run = self.run_tool(*arguments)
        self.assertEqual((run.returncode, run.stdout), (2, ""))
        return run.stderr

    def test_command_lines(self):
        self.wrong()
        self.wrong("estimate")
        self.wrong("estimate", tool.EXAMPLE, "--format", "yaml")
        self.assertIn('did you mean "estimate"?', self.wrong("estmate", "x.json"))
        self.assertIn('did you mean "--fidelity"?',
                      self.wrong("estimate", tool.EXAMPLE, "--fidelty", "ideal"))

    def test_values_of_options(self):
        run = self.run_tool("model", "llama-3.1-8b", "--kv-dtype", "fp9")
        self.assertEqual(run.returncode, 3)
        self.assertIn('did you mean "fp8"?', run.stderr)
        run = self.run_tool("estimate", tool.EXAMPLE, "--set", "workload.batch")
        self.assertEqual(run.returncode, 3)


if __name__ == "__main__":
    tool.main()
