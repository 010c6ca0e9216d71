"""Bad specs: exit 3 and one clear message a fault, or exit 1 and a verdict; -o stays untouched."""
import json
import os
import pty
import signal
import subprocess
import time

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

    def test_bursts_beyond_reason(self):
        self.refused(changed(workload={"input_tokens": 10, "output_tokens": 10,
                                       "arrival_rate": "1 req/s", "arrival_squared_cv": 1e16}),
                     ["/workload/arrival_squared_cv", "from 0 to 10000", "found 1e+16"])
        most = self.run_tool("estimate", tool.EXAMPLE, "--set", "workload.arrival_squared_cv=10000")
        self.assertNotIn("nan", most.stdout)

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

    def test_a_simulation_that_falls_behind_by_preempting(self):
        load = ("simulate", tool.EXAMPLE, "--set", "objective=null", "--set")
        for rate in (12, 15):  # of 11.0
            json = self.answer(*load, f"workload.arrival_rate={rate} req/s", code=1)
            self.assertEqual(json["verdict"]["outcome"], "unstable")
        json = self.answer(*load, "workload.arrival_rate=9 req/s")
        self.assertEqual(json["verdict"]["outcome"], "feasible")

    def test_times_are_scaled(self):
        json = self.answer("estimate", tool.EXAMPLE, "--set", "workload.arrival_squared_cv=10000",
                           code=1)
        self.assertRegex(json["verdict"]["reason"], r"ttft_p95 is [\d.]+ (s|min|h|d), the limit 1 s")

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
        model = ["model", "llama-3.1-8b"]
        sweep = ["sweep", tool.EXAMPLE, "--axis"]
        self.assertIn('did you mean "fp8"?', self.wrong(*model, "--kv-dtype", "fp9"))
        self.assertIn("--context: expected a number of tokens", self.wrong(*model, "--context", "x"))
        self.assertIn('did you mean "fp8"', self.wrong("plan", tool.EXAMPLE, "--precisions", "bf16,fp9"))
        self.assertIn("--axis batch: expected KEY=VALUES", self.wrong(*sweep, "batch"))
        self.assertIn("given twice", self.wrong(*sweep, "batch=1", "--axis", "batch=2"))
        self.assertIn("--shard 3/2", self.wrong(*sweep, "batch=1", "--shard", "3/2"))
        self.assertIn('--metric: unknown metric "step"',
                      self.wrong(*sweep, "batch=1", "--metric", "step"))
        self.wrong("validate-spec")
        self.assertIn("--seed", self.wrong("simulate", tool.EXAMPLE, "--seed", "-1"))

    def test_settings_of_a_scenario(self):
        """These are part of the scenario, and fail like it."""
        run = self.run_tool("estimate", tool.EXAMPLE, "--set", "workload.batch")
        self.assertEqual(run.returncode, 3)
        run = self.run_tool("sweep", tool.EXAMPLE, "--axis", "nosuch=1")
        self.assertEqual((run.returncode, run.stdout), (3, ""))
        self.assertEqual(run.stderr.count("--set"), 0)
        self.assertIn('--axis nosuch=1: unknown key "nosuch"', run.stderr)


class Hostile(tool.ToolTest):
    """What nobody writes on purpose, and what a bad day brings."""

    def refused(self, *arguments, stdin="", timeout=20):
        run = self.run_tool(*arguments, stdin=stdin)
        self.assertEqual((run.returncode, run.stdout), (3, ""), run.stderr)
        return run.stderr

    def test_files_without_an_end(self):
        for arguments in (["estimate", "/dev/zero"], ["model", "/dev/zero"],
                          ["estimate", tool.EXAMPLE, "--set", "model=/dev/zero"],
                          ["validate", "/dev/zero"],
                          ["simulate", tool.EXAMPLE, "--trace", "/dev/zero"]):
            self.assertIn("/dev/zero: is neither a file nor a pipe", self.refused(*arguments))

    def test_a_pipe_is_a_file(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        with subprocess.Popen([tool.TOOL, "validate-spec", pipe], stdout=subprocess.PIPE) as run:
            pipe.write_text(json.dumps(GOOD))
            self.assertIn(b"valid scenario", run.communicate(timeout=20)[0])

    def test_a_file_of_unknown_keys(self):
        keys = ", ".join(f'"weird_key_{i}": {i}' for i in range(300000))
        text = json.dumps(GOOD)[:-1] + ", " + keys + "}"
        start = time.monotonic()
        lines = self.refused("estimate", self.write("s.json", text)).splitlines()
        self.assertLess(time.monotonic() - start, 40)
        self.assertEqual(len(lines), 51)
        self.assertIn("and 299950 more faults", lines[-1])

    def test_numbers_beyond_reason(self):
        for setting in ("accelerator.memory_bandwidth=x1e-300", "accelerator.memory_bandwidth=x1e60",
                        "workload.arrival_rate=1e-20 req/s", "price.utilization=1e-300",
                        "workload.input_tokens=1e300"):
            message = self.refused("estimate", tool.EXAMPLE, "--set", setting)
            self.assertIn("out of range", message)
        json = self.answer("estimate", tool.EXAMPLE, "--set", "workload.arrival_rate=1e-9 req/s")
        self.assertLess(json["serving"]["ttft_s"]["p95"], 1)

    def test_a_full_disk(self):
        for arguments in (["estimate", tool.EXAMPLE], ["list", "models", "--json"],
                          ["sweep", tool.EXAMPLE, "--axis", "batch=1:300:+1", "--axis",
                           "context=1k"]):
            self.assertIn("/dev/full: cannot be written: No space left on device",
                          self.refused(*arguments, "-o", "/dev/full"))

    def test_an_interrupt_leaves_no_half_file(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            sweep = [tool.TOOL, "sweep", tool.EXAMPLE, "--axis", "batch=1:100000:+1", "--axis",
                     "context=1:100000:+1", "-o", "grid.csv"]
            with subprocess.Popen(sweep, cwd=self.folder) as run:
                while not self.files():
                    self.assertIsNone(run.poll())
                    time.sleep(0.05)
                run.send_signal(number)
                self.assertEqual(run.wait(timeout=20), -number)
            self.assertEqual(self.files(), [])

    def test_configurations_that_would_be_guessed(self):
        config = json.loads((tool.SOURCE / "data/models/llama-3.1-8b.json").read_text())
        for key, value, expected in (("quantization_config", 3, "expected an object, found 3"),
                                     ("torch_dtype", "foo", 'found "foo"'),
                                     ("torch_dtype", 16, "expected text, found 16")):
            message = self.refused("model", self.write("m.json", config | {key: value}))
            self.assertIn("/" + key, message)
            self.assertIn(expected, message)

    def test_nothing_to_validate(self):
        head = (tool.SOURCE / "data/validation/closed_loop.csv").read_text().splitlines()[0]
        json = self.answer("validate", self.write("runs.csv", head + "\n"), code=1)
        self.assertEqual((json["rows"], json["evaluated"]), (0, 0))

    def test_examples_are_scenarios(self):
        for path in sorted((tool.SOURCE / "examples/specs").glob("*.json")):
            run = self.run_tool("validate-spec", path)
            self.assertEqual((run.returncode, run.stderr), (0, ""), path)


class Terminal(tool.ToolTest):
    def at_terminal(self, *arguments, **environment):
        """What comes to a terminal as standard output and error, two of them."""
        (out, out_end), (err, err_end) = pty.openpty(), pty.openpty()
        variables = os.environ | {"TERM": "xterm"} | environment
        if "NO_COLOR" not in environment:
            variables.pop("NO_COLOR", None)
        with subprocess.Popen([tool.TOOL, *arguments], stdout=out_end, stderr=err_end,
                              env=variables) as run:
            os.close(out_end)
            os.close(err_end)
            texts = [b"", b""]
            for i, end in enumerate((out, err)):
                while chunk := self.read(end):
                    texts[i] += chunk
            self.assertEqual(run.wait(timeout=60), 0)
        return [text.decode() for text in texts]

    @staticmethod
    def read(end):
        try:
            return os.read(end, 65536)
        except OSError:  # the other side has closed
            return b""

    def test_colour(self):
        estimate = ["estimate", tool.EXAMPLE]
        self.assertIn("\033[", self.at_terminal(*estimate)[0])
        self.assertNotIn("\033", self.at_terminal(*estimate, NO_COLOR="1")[0])
        self.assertNotIn("\033", self.at_terminal(*estimate, TERM="dumb")[0])
        self.assertNotIn("\033", self.run_tool(*estimate).stdout)

    def test_progress(self):
        simulate = ["simulate", tool.EXAMPLE, "--requests", "3000"]
        self.assertIn("simulating", self.at_terminal(*simulate)[1])
        self.assertEqual(self.at_terminal(*simulate, "--quiet")[1], "")
        self.assertEqual(self.at_terminal(*simulate, TERM="dumb")[1], "")
        self.assertEqual(self.run_tool(*simulate).stderr, "")

    def test_width(self):
        narrow = self.run_tool("estimate", tool.EXAMPLE, COLUMNS="60").stdout
        prose = [line for line in narrow.splitlines() if "  " not in line]
        self.assertLessEqual(max(map(len, prose)), 60)
        wide = self.run_tool("estimate", tool.EXAMPLE, COLUMNS="400").stdout
        self.assertEqual(wide, self.run_tool("estimate", tool.EXAMPLE, COLUMNS="").stdout)

    def test_the_answer_comes_first(self):
        top = " ".join(self.run_tool("estimate", tool.EXAMPLE).stdout.splitlines()[:8])
        for part in ("It fits", "serves 4 req/s", "first token", "tok/s", "USD", "binds"):
            self.assertIn(part, top)

    def test_version(self):
        self.assertEqual(self.run_tool("-v").stdout, self.run_tool("--version").stdout)
        self.assertRegex(self.run_tool("-v").stdout, r"^tokenroof \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    tool.main()
