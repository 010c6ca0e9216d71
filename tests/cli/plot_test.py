"""--plot: an SVG beside the answer, or characters below the table; whole or not at all."""
import json
import pathlib
import shutil
import subprocess
import unittest
import xml.etree.ElementTree as xml

import tool

PICTURES = "roofline batch memory kv speed-cost cost load".split()
TOO_LARGE = {"model": "llama-3.1-70b", "accelerator": "rtx-4090",
             "workload": {"input_tokens": 512, "output_tokens": 256, "arrival_rate": "1 req/s"}}
SVG = "{http://www.w3.org/2000/svg}"


class Plot(tool.ToolTest):
    def drawn(self, *arguments, code=0):
        """The SVG that a run with --plot x.svg leaves, checked for what every one must have."""
        run = self.run_tool(*arguments, "--plot", "x.svg")
        self.assertEqual((run.returncode, run.stderr), (code, ""))
        self.assertGreater(len(run.stdout), 100, "the answer itself")
        text = (self.folder / "x.svg").read_text()
        root = xml.fromstring(text)
        self.assertEqual((root.tag, root.get("role")), (SVG + "svg", "img"))
        for part in ("title", "desc"):
            self.assertTrue(root.find(SVG + part).text.strip())
        self.assertFalse(root.findall(f".//{SVG}script") + root.findall(f".//{SVG}image"))
        self.assertNotIn("nan", text.replace("NaN", "nan").split("<desc", 1)[0])
        for element in root.iter():
            for name in ("x", "y", "x1", "y1", "cx", "d", "width"):
                self.assertNotRegex(element.get(name, ""), "nan|inf")
        (self.folder / "x.svg").unlink()
        return text

    def test_every_picture_of_an_estimate(self):
        plain = self.run_tool("estimate", tool.EXAMPLE).stdout
        seen = set()
        for picture in PICTURES:
            text = self.drawn("estimate", tool.EXAMPLE, "--picture", picture)
            self.assertIn("llama-3.1-70b", text)
            seen.add(text)
        self.assertEqual(len(seen), len(PICTURES))
        run = self.run_tool("estimate", tool.EXAMPLE, "--plot", "x.svg")
        self.assertEqual(run.stdout, plain)

    def test_same_run_same_bytes(self):
        self.assertEqual(self.drawn("estimate", tool.EXAMPLE), self.drawn("estimate", tool.EXAMPLE))

    def test_schemes(self):
        texts = {scheme: self.drawn("estimate", tool.EXAMPLE, "--scheme", scheme)
                 for scheme in ("light", "dark", "automatic")}
        self.assertEqual([s for s in texts if "prefers-color-scheme" in texts[s]], ["automatic"])
        self.assertNotEqual(texts["light"], texts["dark"])

    def test_other_verbs(self):
        self.drawn("model", "deepseek-v3")
        self.drawn("simulate", tool.EXAMPLE, "--requests", "300")
        self.drawn("plan", tool.EXAMPLE, "--accelerators", "h100,h200")
        self.drawn("sweep", tool.EXAMPLE, "--axis", "batch=1:64:x2", "--axis", "context=1k,8k")
        self.drawn("sweep", tool.EXAMPLE, "--axis", "accelerator=h100,h200", "--metric",
                   "decode.step_s")
        rows = self.write("rows.csv", "gpu,engine,engine_version,gemm_dtype,m,n,k,latency_ms\n"
                          "h100-sxm-80gb,vllm,0.24.0,bfloat16,8192,8192,8192,1.5\n"
                          "a100-sxm-80gb,vllm,0.24.0,bfloat16,4096,4096,4096,0.6\n")
        self.assertIn("a100-sxm-80gb", self.drawn("validate", rows))
        run = self.run_tool("validate", rows, "--plot", "x.svg", "--plot-metric", "nosuch")
        self.assertEqual(run.returncode, 1)
        self.assertIn("there are: latency_ms", run.stderr)

    @unittest.skipUnless(shutil.which("xmllint"), "no xmllint here")
    def test_xmllint_agrees(self):
        for picture in PICTURES:
            self.run_tool("estimate", tool.EXAMPLE, "--picture", picture, "--plot", f"{picture}.svg")
        subprocess.run(["xmllint", "--noout", *(f"{p}.svg" for p in PICTURES)], cwd=self.folder,
                       check=True)

    def test_names_of_users_are_text(self):
        spec = json.loads(pathlib.Path(tool.EXAMPLE).read_text())
        device = json.loads((tool.SOURCE / "data/accelerators/h100-sxm-80gb.json").read_text())
        spec["accelerator"] = device | {"name": "<b>&\"'\u00e9</b>"}
        self.assertIn("&lt;b&gt;&amp;",
                      self.drawn("estimate", self.write("s.json", spec), "--picture", "memory"))

    def test_terminal(self):
        for columns in ("60", "100"):
            run = self.run_tool("estimate", tool.EXAMPLE, "--plot", "-", COLUMNS=columns)
            self.assertEqual((run.returncode, run.stderr), (0, ""))
            plain = self.run_tool("estimate", tool.EXAMPLE, COLUMNS=columns).stdout
            self.assertTrue(run.stdout.startswith(plain))
            lines = run.stdout[len(plain):].splitlines()
            self.assertIn("Latency against the arrival rate", lines)
            self.assertLessEqual(max(map(len, lines)), int(columns))
            self.assertTrue(any("\u2800" <= c <= "\u28ff" for line in lines for c in line))

    def test_wrong_calls(self):
        for arguments in (("--plot", "-", "--json"), ("--plot", "x.png"),
                          ("--plot", "x.svg", "--picture", "pie"),
                          ("--plot", "x.svg", "-o", "x.svg")):
            run = self.run_tool("estimate", tool.EXAMPLE, *arguments)
            self.assertEqual((run.returncode, run.stdout), (2, ""), arguments)
            self.assertTrue(run.stderr)
            self.assertEqual(self.files(), [])

    def test_machine_output_beside_a_drawing(self):
        run = self.run_tool("estimate", tool.EXAMPLE, "--plot", "-", "-o", "a.json")
        self.assertEqual(run.returncode, 0)
        json.loads((self.folder / "a.json").read_text())
        self.assertIn("Latency", run.stdout)

    def test_nowhere_to_write(self):
        run = self.run_tool("estimate", tool.EXAMPLE, "--plot", "no/such/x.svg", "-o", "a.json")
        self.assertEqual((run.returncode, run.stdout), (3, ""))
        self.assertIn("x.svg", run.stderr)
        self.assertEqual(self.files(), [])

    def test_nothing_to_draw_is_said(self):
        spec = self.write("s.json", TOO_LARGE)
        run = self.run_tool("estimate", spec, "--plot", "x.svg", "--picture", "load")
        self.assertEqual(run.returncode, 1)
        self.assertIn("no picture: Does not fit", run.stderr)
        self.assertIn("Does not fit", run.stdout)
        self.assertEqual(self.files(), ["s.json"])
        self.assertIn("too little", self.drawn("estimate", spec, code=1))  # memory, by default
        run = self.run_tool("sweep", tool.EXAMPLE, "--axis", "batch=1:9:+1", "--axis",
                            "context=1k:9k:+1k", "--plot", "x.svg")
        self.assertEqual(run.returncode, 1)
        self.assertIn("9 values", run.stderr)
        self.assertEqual(len(run.stdout.splitlines()), 82)
        self.assertEqual(self.files(), ["s.json"])


tool.main()
