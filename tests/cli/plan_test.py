"""The plan verb: cheapest first, the frontier, why others fell out, and questions without an answer."""
import csv
import io

import tool

SPEC = {"model": "llama-3.1-8b", "accelerator": "h100-sxm-80gb", "engine": "vllm",
        "workload": {"input_tokens": 1024, "output_tokens": 256, "arrival_rate": "10 req/s"},
        "objective": {"ttft_p95": "1 s", "tpot_mean": "50 ms"}}


class Plan(tool.ToolTest):
    def plan(self, *arguments, code=0, **changes):
        return self.answer("plan", self.write("s.json", SPEC | changes), *arguments, code=code)

    def refused(self, *arguments, **changes):
        """The message of a plan that cannot be asked for."""
        run = self.run_tool("plan", self.write("s.json", SPEC | changes), *arguments)
        self.assertIn(run.returncode, (2, 3), run.stderr)
        self.assertEqual(run.stdout, "")
        return run.stderr

    def test_cheapest_first_and_frontier(self):
        plan = self.plan("--accelerators", "h100-sxm-80gb,h200-sxm-141gb,b200-sxm",
                         "--precisions", "bf16,fp8")
        self.assertEqual(plan["schema"], "tokenroof/plan/1")
        self.assertEqual(plan["verdict"]["outcome"], "feasible")
        costs = [d["usd_per_hour"] for d in plan["deployments"]]
        self.assertEqual(costs, sorted(costs))
        for d in plan["deployments"]:
            self.assertLessEqual(d["ttft_s"]["p95"], 1)
            self.assertLessEqual(d["tpot_s"]["mean"], 0.05)
            self.assertGreaterEqual(d["replica_rate_per_s"] * d["replicas"], 10 * (1 - 1e-9))
        speeds = [d["tokens_per_s_per_user"] for d in plan["pareto"]]
        self.assertEqual(speeds, sorted(speeds))
        self.assertEqual(plan["pareto"][0], plan["deployments"][0])
        counts = plan["counts"]
        parts = "invalid_layout does_not_fit below_latency_floor too_costly evaluated".split()
        self.assertEqual(counts["enumerated"], sum(counts[part] for part in parts))

    def test_headroom_spares_and_whole_nodes(self):
        own = ("--accelerators", "h100-sxm-80gb")
        least = self.plan(*own)["deployments"][0]
        spare = self.plan(*own, "--spare", "1")["deployments"][0]
        self.assertGreater(spare["devices"], least["devices"])
        self.assertEqual(self.plan(*own, "--whole-nodes")["deployments"][0]["devices"] % 8, 0)
        roomy = self.plan(*own, "--headroom", "3")["deployments"][0]
        self.assertGreaterEqual(roomy["replica_rate_per_s"] * roomy["replicas"], 40 * (1 - 1e-9))

    def test_a_small_load_gets_a_small_fleet(self):
        tiny = SPEC["workload"] | {"arrival_rate": "0.01 req/s"}
        self.assertEqual(self.plan(workload=tiny)["deployments"][0]["devices"], 1)

    def test_formats(self):
        spec = self.write("s.json", SPEC)
        rows = list(csv.DictReader(io.StringIO(
            self.run_tool("plan", spec, "--format", "csv").stdout)))
        self.assertIn("cost_usd_per_hour", rows[0])
        self.assertIn("TRUE", {row["pareto"] for row in rows})
        text = self.run_tool("plan", spec).stdout
        for words in ("Cheapest first", "Frontier", "deployments enumerated"):
            self.assertIn(words, text)
        self.assertIn("| accelerator", self.run_tool("plan", spec, "--format", "markdown").stdout)

    def test_separate_pools_beside_mixed_replicas(self):
        load = {"input_tokens": 4096, "output_tokens": 256, "arrival_rate": "40 req/s"}
        tight = {"ttft_p95": "500 ms", "tpot_mean": "20 ms"}
        own = ("--accelerators", "h100-sxm-80gb", "--separate-pools")
        plan = self.plan(*own, workload=load, objective=tight)
        self.assertTrue(any(d["prefill_replicas"] > 0 for d in plan["deployments"]))
        self.assertTrue(any(row["pays"] for row in plan["separate_pools"]))
        for row in plan["separate_pools"]:
            self.assertEqual(row["pays"], row["separate"]["objective_rate_per_s"] >
                             row["mixed"]["objective_rate_per_s"])
            self.assertGreater(row["kv_hand_over_s"], 0)
        text = self.run_tool("plan", "s.json", *own).stdout
        self.assertIn("xPyD", text)
        self.assertNotIn("memory_bandwidth", text)
        self.assertNotIn("separate_pools", self.plan())

    def test_an_objective_below_the_floor_is_a_verdict(self):
        plan = self.plan(objective={"tpot_mean": "1 us"}, code=1)
        self.assertEqual(plan["verdict"]["outcome"], "below_latency_floor")
        self.assertEqual(plan["deployments"], [])
        self.assertTrue(plan["verdict"]["remedy"])

    def test_a_model_that_fits_nowhere_is_a_verdict(self):
        plan = self.plan("--max-devices", "1", "--accelerators", "h100-sxm-80gb", code=1,
                         model="llama-3.1-405b")
        self.assertEqual(plan["verdict"]["outcome"], "does_not_fit")

    def test_a_candidate_without_a_price_is_left_out(self):
        plan = self.plan("--accelerators", "h100-sxm-80gb,mi300x,mi300x")
        self.assertEqual({d["accelerator"] for d in plan["deployments"]}, {"h100-sxm-80gb"})
        self.assertEqual([one["accelerator"] for one in plan["left_out"]], ["mi300x"])
        self.assertIn("has no price", plan["left_out"][0]["reason"])
        text = self.run_tool("plan", "s.json", "--accelerators", "h100-sxm-80gb,mi300x").stdout
        self.assertIn("Left out: mi300x has no price", text)
        self.assertEqual(self.plan("--accelerators", "h100-sxm-80gb")["left_out"], [])

    def test_bad_questions(self):
        self.assertIn("arrival_rate", self.refused(workload=SPEC["workload"] | {
            "arrival_rate": None, "concurrency": 8}))
        self.assertIn("has no price", self.refused("--accelerators", "mi300x"))
        self.assertIn("did you mean", self.refused("--accelerators", "h10-sxm-80gb"))
        self.assertIn("unknown accelerator", self.refused("--accelerators", ""))
        self.assertIn("fp8", self.refused("--precisions", "fp9"))
        self.assertIn("accelerator_hour", self.refused(price={"accelerator_hour": "-1 USD"}))
        self.assertIn("utilization", self.refused(price={"utilization": 0}))
        self.assertIn("headroom", self.refused("--headroom", "-1"))


tool.main()
