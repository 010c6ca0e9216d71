"""--csv-dialect: every verb that writes CSV writes both dialects, and they say the same."""
import csv
import io
import re

import tool

DATA = tool.SOURCE / "tests/io/import"
POOLS = str(tool.SOURCE / "examples/specs/18_separate_pools.json")
H100 = ("--accelerator", "h100-sxm-80gb")
BENCH = str(DATA / "vllm_bench.json")
COMMANDS = [
    ("model", "llama-3.1-8b"), ("estimate", tool.EXAMPLE),
    ("simulate", tool.EXAMPLE, "--requests", "20"),
    ("validate", BENCH, *H100), ("validate-spec", tool.EXAMPLE), ("list", "accelerators"),
    ("list", "models"), ("list", "engines"), ("list", "prices"), ("list", "metrics"),
    ("sweep", tool.EXAMPLE, "--axis", "engine.memory_fraction=0.8,0.9"),
    ("explain", tool.EXAMPLE, "decode"), ("compare", tool.EXAMPLE, POOLS),
    ("what-if", tool.EXAMPLE), ("what-if", tool.EXAMPLE, "--set", "workload.arrival_rate=x2"),
    ("plan", tool.EXAMPLE, "--accelerators", "h100"), ("bill", tool.EXAMPLE),
    ("import", BENCH, *H100),
    ("calibrate", "runs.json", *H100, "--engine", "vllm", "--constant", "step"),
    ("calibrate", "--log", str(DATA / "vllm_0.11_tp2.log"), tool.EXAMPLE)]
# Columns of names, which stay as they are even where they look like numbers.
NAMES = {"engine_version", "versions"}


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


class CsvDialect(tool.ToolTest):
    def rows(self, arguments, dialect, separator):
        run = self.run_tool(*arguments, "--format", "csv", "--csv-dialect", dialect)
        self.assertIn(run.returncode, (0, 1), run.stderr)
        return list(csv.reader(io.StringIO(run.stdout, newline=""), delimiter=separator))

    def test_both_say_the_same(self):
        bench = (DATA / "vllm_bench.json").read_text()
        self.write("runs.json", "\n".join(bench.replace("31.9", f"{20 + n}.5").replace(
            '"max_concurrency": 64', f'"max_concurrency": {n}') for n in (4, 16, 32, 64)))
        for arguments in COMMANDS:
            with self.subTest(arguments):
                comma = self.rows(arguments, "comma", ",")
                semicolon = self.rows(arguments, "semicolon", ";")
                self.assertGreater(len(comma), 1)
                self.assertEqual(comma[0], semicolon[0])
                self.assertEqual([len(row) for row in comma], [len(row) for row in semicolon])
                for one, other in zip(comma[1:], semicolon[1:]):
                    for name, x, y in zip(comma[0], one, other):
                        local = name not in NAMES and number(x) is not None
                        self.assertEqual(x.replace(".", ",") if local else x, y, name)

    def test_every_verb_that_writes_csv_is_here(self):
        verbs = re.findall(r"^  ([a-z-]+)  ", self.run_tool("--help").stdout, re.M)
        writers = {verb for verb in verbs
                   if re.search(r"--format .*\bcsv\b", self.run_tool(verb, "--help").stdout)}
        self.assertEqual(writers - {"export"}, {arguments[0] for arguments in COMMANDS})
        for verb in writers:
            self.assertIn("--csv-dialect", self.run_tool(verb, "--help").stdout)

    def test_validate_reads_both(self):
        for name, kind in (("vllm_bench.json", "closed_loop"), ("vllm_0.11_tp2.log", "capacity")):
            reports = []
            for dialect in ("comma", "semicolon"):
                rows = self.run_tool("import", str(DATA / name), *H100, "--memory-fraction", "0.9",
                                     "--csv-dialect", dialect, "--quiet")
                reports.append(self.answer("validate", "-", stdin=rows.stdout))
            self.assertEqual(reports[0]["kind"], kind)
            self.assertEqual(reports[0], reports[1])

    def test_faults(self):
        run = self.run_tool("estimate", tool.EXAMPLE, "--csv-dialect", "tabs")
        self.assertEqual((run.returncode, run.stdout), (2, ""))
        run = self.run_tool("export", "xlsx", tool.EXAMPLE, "-o", "a.xlsx", "--csv-dialect",
                            "semicolon")
        self.assertEqual((run.returncode, self.files()), (2, []))
        self.assertIn("--csv-dialect: a workbook is no CSV", run.stderr)


tool.main()
