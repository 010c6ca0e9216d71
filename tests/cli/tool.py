"""Runs the built tool for the tests of this folder: python3 NAME_test.py TOOL SOURCE_FOLDER."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(sys.argv[1]).resolve()
SOURCE = pathlib.Path(sys.argv[2]).resolve()
EXAMPLE = str(SOURCE / "examples/specs/llama-70b-8xh100.json")


class ToolTest(unittest.TestCase):
    """Each test runs in an empty folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_tool(self, *arguments, stdin="", **environment):
        variables = {k: v for k, v in os.environ.items() if k != "TOKENROOF_DATA"} | environment
        return subprocess.run([TOOL, *arguments], input=stdin, cwd=self.folder, text=True,
                              capture_output=True, env=variables, timeout=60)

    def answer(self, *arguments, code=0, **more):
        """The JSON answer of a run that must end with `code` and a silent standard error."""
        run = self.run_tool(*arguments, "--json", **more)
        self.assertEqual((run.returncode, run.stderr), (code, ""), run.stdout[:300])
        return json.loads(run.stdout, parse_constant=self.fail)

    def write(self, name, text):
        (self.folder / name).write_text(text if isinstance(text, str) else json.dumps(text))
        return name

    def files(self):
        return sorted(path.name for path in self.folder.iterdir())


def main():
    unittest.main(argv=sys.argv[:1])
