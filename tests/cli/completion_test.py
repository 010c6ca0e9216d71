"""Completion in bash, zsh and fish, and the manual page: what a person at a terminal gets."""
import os
import re
import shutil
import subprocess
import unittest

import tool


def lacks(program):
    return unittest.skipUnless(shutil.which(program), f"no {program} here")


class Words(tool.ToolTest):
    """The candidates themselves, as the scripts ask for them."""

    def words(self, *line):
        run = self.run_tool("completion", "words", "--", *line)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        paths, *rest = run.stdout.splitlines()
        return paths, [word.split("\t")[0] for word in rest]

    def test_verbs(self):
        self.assertEqual(self.words("est"), ("none", ["estimate"]))
        listed = re.findall(r"^  (\S+)  ", self.run_tool("--help").stdout, re.M)
        verbs = [word for word in listed if not word.startswith("-")]
        self.assertGreater(len(verbs), 10)
        self.assertEqual(self.words("")[1], verbs)
        self.assertEqual(self.words("nosuch", ""), ("none", []))

    def test_every_option_of_every_verb(self):
        for verb in self.words("")[1]:
            text = self.run_tool(verb, "--help").stdout
            told = set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", text, re.M))
            self.assertEqual(set(self.words(verb, "--")[1]), told, verb)

    def test_closed_sets(self):
        self.assertEqual(self.words("estimate", "--format", ""),
                         ("none", ["table", "json", "csv", "markdown"]))
        self.assertEqual(self.words("estimate", "x.json", "--fidelity=i"),
                         ("none", ["--fidelity=ideal"]))
        self.assertEqual(self.words("list", "m"), ("none", ["models", "metrics"]))
        self.assertIn("fp8", self.words("model", "x", "--kv-dtype", "")[1])

    def test_names_of_the_catalogue(self):
        self.assertEqual(self.words("model", "llama-3.1-4"), ("files", ["llama-3.1-405b"]))
        self.assertEqual(self.words("validate", "x.csv", "--engine", "v"), ("none", ["vllm"]))
        self.assertIn("h100,h200-sxm-141gb",
                      self.words("plan", "s.json", "--accelerators", "h100,h2")[1])
        self.assertIn("decode.step_s", self.words("explain", "s.json", "decode.")[1])

    def test_paths(self):
        self.assertEqual(self.words("estimate", ""), ("files", []))
        self.assertEqual(self.words("estimate", "s.json", "--data", ""), ("folders", []))
        self.assertEqual(self.words("compare", "a.json", "b.json", "c")[0], "files")
        self.assertEqual(self.words("estimate", "a.json", "b")[0], "none")

    def test_settings_of_a_scenario(self):
        self.assertIn("workload.", self.words("estimate", "s", "--set", "")[1])
        self.assertEqual(self.words("estimate", "s", "--set", "workload.ba")[1], ["workload.batch="])
        self.assertEqual(self.words("estimate", "s", "--set", "accelerator=h100-n")[1],
                         ["accelerator=h100-nvl-94gb"])
        self.assertIn("precision.weights=nvfp4",
                      self.words("estimate", "s", "--set", "precision.weights=")[1])
        self.assertIn("accelerator.dense_peak.fp8=",
                      self.words("sweep", "s", "--axis", "accelerator.dense_peak.")[1])
        self.assertEqual(self.words("sweep", "s", "--axis", "engine=vllm,sg")[1],
                         ["engine=vllm,sglang"])
        self.assertNotIn("question=", self.words("estimate", "s", "--set", "")[1])

    def test_every_offered_setting_is_known_to_the_reader(self):
        for section in ("engine", "precision", "deployment", "workload", "objective", "price"):
            offered = self.words("estimate", "s", "--set", section + ".")[1]
            self.assertGreater(len(offered), 1)
            for key in offered:
                value = "{}" if key.endswith(".") else "null"
                run = self.run_tool("estimate", tool.EXAMPLE, "--set", key[:-1] + "=" + value)
                self.assertNotIn("unknown", run.stderr)


class Shells(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.write("scenario one.json", "{}")
        (self.folder / "folder").mkdir()

    def shell(self, program, *arguments, stdin=""):
        path = f"{tool.TOOL.parent}:{os.environ['PATH']}"
        variables = os.environ | {"PATH": path, "HOME": str(self.folder), "TERM": "dumb"}
        run = subprocess.run([program, *arguments], input=stdin, cwd=self.folder, text=True,
                             capture_output=True, env=variables, timeout=60)
        self.assertEqual((run.returncode, run.stderr), (0, ""), run.stdout)
        return run.stdout.splitlines()

    def script(self, shell):
        run = self.run_tool("completion", shell)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return self.write("script", run.stdout)

    def bash(self, line, *words):
        """Replies when `line` ends at the cursor and bash has split it into `words`."""
        self.script("bash")
        quoted = " ".join(f"'{word}'" for word in words)
        return self.shell("bash", "--norc", "-c", f"""
            compopt() {{ :; }}
            source ./script
            COMP_LINE='{line}' COMP_POINT={len(line)} COMP_WORDS=({quoted})
            COMP_CWORD={len(words) - 1}
            _tokenroof tokenroof
            printf '%s\\n' "${{COMPREPLY[@]}}" """)

    @lacks("bash")
    def test_bash(self):
        self.assertEqual(self.bash("tokenroof est", "tokenroof", "est"), ["estimate"])
        self.assertEqual(sorted(self.bash("tokenroof estimate ", "tokenroof", "estimate", "")),
                         ["folder", "scenario one.json", "script"])
        self.assertEqual(self.bash("tokenroof estimate s --fidelity r", "tokenroof", "estimate",
                                   "s", "--fidelity", "r"), ["roofline"])
        # Bash makes words of its own of what stands around "=".
        self.assertEqual(self.bash("tokenroof estimate s --set engine=sg", "tokenroof", "estimate",
                                   "s", "--set", "engine", "=", "sg"), ["sglang"])
        self.assertEqual(self.bash("tokenroof estimate s --fidelity=", "tokenroof", "estimate",
                                   "s", "--fidelity", "="), ["ideal", "roofline", "calibrated"])
        self.assertEqual(self.bash("tokenroof list models --data ", "tokenroof", "list", "models",
                                   "--data", ""), ["folder"])

    @lacks("zsh")
    def test_zsh(self):
        self.script("zsh")
        self.shell("zsh", "-n", "script")
        registered = self.shell("zsh", "-f", "-c", "autoload -U compinit; compinit -u -D; "
                                "source ./script; print $_comps[tokenroof]")
        self.assertEqual(registered, ["_tokenroof"])

        def offered(*words):
            quoted = " ".join(f"'{word}'" for word in words)
            return self.shell("zsh", "-f", "-c", f"""
                compdef() {{ }}
                _files() {{ print files "$@" }}
                _describe() {{ print -l -- "${{(@P)4}}" }}
                source ./script
                words=({quoted}) CURRENT={len(words)}
                _tokenroof""")
        self.assertEqual(offered("tokenroof", "est")[0].split(":")[0], "estimate")
        self.assertEqual(offered("tokenroof", "estimate", ""), ["files"])
        self.assertEqual(offered("tokenroof", "list", "models", "--data", ""), ["files -/"])
        self.assertEqual(offered("tokenroof", "estimate", "s", "--set", "engine=sg"),
                         ["engine=sglang"])

    @lacks("fish")
    def test_fish(self):
        self.script("fish")
        self.shell("fish", "--no-execute", "script")

        def offered(line):
            lines = self.shell("fish", "--no-config", "-c",
                               f"source ./script; complete -C '{line}'")
            return [line.split("\t")[0] for line in lines]
        self.assertEqual(offered("tokenroof est"), ["estimate"])
        self.assertEqual(offered("tokenroof estimate s --fidelity r"), ["roofline"])
        self.assertIn("scenario one.json", [name.replace("\\", "") for name in
                                            offered("tokenroof estimate sc")])
        self.assertEqual(offered("tokenroof estimate s --set engine=sg"), ["engine=sglang"])


class Manual(tool.ToolTest):
    def setUp(self):
        super().setUp()
        run = self.run_tool("man", "-o", "tokenroof.1")
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "", ""))
        self.page = (self.folder / "tokenroof.1").read_text()

    def test_names_every_verb_and_every_option(self):
        plain = self.page.replace("\\-", "-")
        for verb in re.findall(r"^  ([a-z-]+)  ", self.run_tool("--help").stdout, re.M):
            self.assertIn(f"\n.SS {verb}\n", plain)
            for option in re.findall(r"--[\w-]+", self.run_tool(verb, "--help").stdout):
                self.assertIn(option, plain)

    @lacks("man")
    def test_man_has_no_complaint(self):
        run = subprocess.run(["man", "--warnings", "-l", "tokenroof.1"], cwd=self.folder, text=True,
                             capture_output=True, env=os.environ | {"MANWIDTH": "100", "LC_ALL": "C"})
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("EXIT STATUS", run.stdout)

    @lacks("mandoc")
    def test_mandoc_has_no_complaint(self):
        run = subprocess.run(["mandoc", "-Tlint", "-Wwarning", "tokenroof.1"], cwd=self.folder,
                             text=True, capture_output=True)
        self.assertEqual((run.returncode, run.stdout), (0, ""))


if __name__ == "__main__":
    tool.main()
