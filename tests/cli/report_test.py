"""The report as its readers get it: a page that stands alone, with the answer's own numbers."""
import html.parser
import json
import re
import xml.etree.ElementTree as xml

import tool

XHTML = "{http://www.w3.org/1999/xhtml}"
SVG = "{http://www.w3.org/2000/svg}"
SECTIONS = "question answer results pictures assumptions sources certainty changes words".split()
HOSTILE = {"model": "llama-3.1-70b", "accelerator": "l40s", "engine": "vllm",
           "question": "Do <b>we</b> need \"more\" & 'better' ]]> cards?",
           "workload": {"input_tokens": 2048, "output_tokens": 256, "concurrency": 8}}
CLOSED_MIXTURE = {"model": "deepseek-r1", "accelerator": "h200-sxm-141gb", "engine": "sglang",
                  "deployment": {"tensor_parallel": 8},
                  "workload": {"input_tokens": 2000, "output_tokens": 1000, "concurrency": 64}}
STEP = {"model": "llama-3.1-8b", "accelerator": "a100-sxm-80gb",
        "workload": {"batch": 16, "context_tokens": 2048}}


class Balanced(html.parser.HTMLParser):
    """Every element that is opened is closed, in order."""
    VOID = {"meta"}

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()


def at(answer, key):
    for part in key.split("."):
        answer = answer[part]
    return answer


class Page(tool.ToolTest):
    def page(self, spec, code=0):
        run = self.run_tool("report", spec, "-o", "r.html")
        self.assertEqual((run.returncode, run.stdout, run.stderr), (code, "", ""))
        return (self.folder / "r.html").read_text()

    def specs(self):
        yield tool.EXAMPLE, 0
        for name, spec, code in (("no.json", HOSTILE, 1), ("moe.json", CLOSED_MIXTURE, 0),
                                 ("step.json", STEP, 0)):
            yield self.write(name, spec), code

    def test_well_formed_and_complete(self):
        for spec, code in self.specs():
            text = self.page(spec, code)
            parser = Balanced()
            parser.feed(text)
            parser.close()
            self.assertEqual(parser.open, [])
            root = xml.fromstring(text)
            found = [section.get("id") for section in root.iter(XHTML + "section")]
            self.assertEqual(found, SECTIONS)
            ids = [element.get("id") for element in root.iter() if element.get("id")]
            self.assertEqual(len(ids), len(set(ids)))
            for element in root.iter():
                for name in ("aria-labelledby", "aria-describedby"):
                    self.assertLessEqual(set((element.get(name) or "").split()), set(ids))
            self.assertEqual(len(list(root.iter(XHTML + "h1"))), 1)
            for table in root.iter(XHTML + "table"):
                self.assertTrue(table.find(XHTML + "caption").text)
                self.assertTrue(all(head.get("scope") for head in table.iter(XHTML + "th")))
            for picture in root.iter(SVG + "svg"):
                self.assertTrue(picture.find(SVG + "title").text)

    def test_stands_alone(self):
        for spec, code in self.specs():
            root = xml.fromstring(self.page(spec, code))
            for element in root.iter():
                self.assertNotIn(element.tag.split("}")[1], ("script", "link", "img", "iframe"))
                for name, value in element.attrib.items():
                    self.assertNotRegex(value, r"(?i)https?:|javascript:|^//", name)
                    self.assertFalse(name.startswith("on"), name)
                    if name.split("}")[-1] in ("href", "src"):
                        self.assertTrue(value.startswith("#"), value)
                if element.tag.endswith("}style"):
                    self.assertNotRegex(element.text, r"url\(|@import|http")

    def test_numbers_are_those_of_the_answer(self):
        keys = [row["metric"] for row in self.answer("list", "metrics")["metrics"]]
        for spec, code in self.specs():
            answer = self.answer("estimate", spec, code=code)
            results = xml.fromstring(self.page(spec, code)).find(
                f".//{XHTML}section[@id='results']")
            shown = {}
            for row in results.iter(XHTML + "tr"):
                data = row.find(f".//{XHTML}data")
                if data is None:
                    continue
                key = "".join(row[2].itertext())
                shown[key] = json.loads(data.get("value"))
                self.assertEqual(shown[key], at(answer, key), key)
                self.reads_as(data.text, shown[key], key)
            self.assertEqual(sorted(shown), sorted(k for k in keys if at(answer, k) is not None))

    def reads_as(self, text, value, key):
        """The number for people is the exact one, to four digits, in the unit beside it."""
        number, unit = text.replace(",", "").split(" ", 1)
        factor = {"ms": 1e-3, "us": 1e-6, "min": 60, "h": 3600, "KiB": 2**10, "MiB": 2**20,
                  "GiB": 2**30, "TiB": 2**40, "%": 0.01}.get(unit, 1)
        self.assertAlmostEqual(float(number) * factor, value, delta=6e-4 * abs(value), msg=key)

    def test_texts_are_escaped(self):
        text = self.page(self.write("no.json", HOSTILE), 1)
        self.assertNotIn("<b>", text)
        question = xml.fromstring(text).find(f".//{XHTML}section[@id='question']/{XHTML}p")
        self.assertEqual(question.text, HOSTILE["question"])

    def test_a_no_says_what_helps(self):
        spec = self.write("no.json", HOSTILE)
        text = self.page(spec, 1)
        verdict = self.answer("estimate", spec, code=1)["verdict"]
        self.assertIn("No: it does not fit into memory", text)
        self.assertIn(verdict["reason"], text)
        self.assertIn(verdict["remedy"], text)
        rows = re.findall(r"<td>([a-z_.]+=[^<]+)</td><td>yes</td>", text)
        self.assertTrue(rows)
        for setting in rows:
            self.assertEqual(self.run_tool("estimate", spec, "--set", setting).returncode, 0)

    def test_accuracy_is_that_of_the_record(self):
        record = (tool.SOURCE / "docs/accuracy_head.md").read_text()
        row = next(line for line in record.splitlines() if line.startswith("| closed loop, all"))
        tpot, ttft = re.search(r"within ([\d.]+ %) for the time per further token and within "
                               r"([\d.]+ %)", self.page(tool.EXAMPLE)).groups()
        self.assertEqual([cell.split(" %")[0] for cell in row.split("| ")[4:6]],
                         [tpot[:-2], ttft[:-2]])


class Files(tool.ToolTest):
    def test_same_inputs_same_bytes(self):
        for name in ("a.html", "b.html"):
            self.run_tool("report", tool.EXAMPLE, "-o", name)
        self.assertEqual((self.folder / "a.html").read_bytes(),
                         (self.folder / "b.html").read_bytes())

    def test_format_follows_the_ending(self):
        for name, begin in (("r.htm", "<!DOCTYPE html>"), ("r.md", "# llama")):
            self.assertEqual(self.run_tool("report", tool.EXAMPLE, "-o", name).returncode, 0)
            self.assertTrue((self.folder / name).read_text().startswith(begin))
        spec = json.dumps(STEP)
        self.assertTrue(self.run_tool("report", "-", stdin=spec).stdout.startswith("# llama"))
        page = self.run_tool("report", "-", "--format", "html", stdin=spec).stdout
        self.assertTrue(page.startswith("<!DOCTYPE html>"))

    def test_pictures_beside_markdown(self):
        run = self.run_tool("report", tool.EXAMPLE, "-o", "my report.md", "--pictures")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        text = (self.folder / "my report.md").read_text()
        named = re.findall(r"!\[[^]]+\]\(<([^>]+)>\)", text)
        self.assertEqual(sorted([*named, "my report.md"]), self.files())
        for name in named:
            xml.fromstring((self.folder / name).read_text())

    def test_wrong_calls(self):
        for arguments, code, said in (
                (["-o", "r.pdf"], 2, ".html, .htm or .md"),
                (["-o", "r.html", "--pictures"], 2, "--pictures"),
                (["--pictures"], 2, "-o"),
                (["-o", "absent/r.md", "--pictures"], 3, "absent/r"),
                (["-o", "r.html", "--set", "modle=x"], 3, "modle")):
            run = self.run_tool("report", tool.EXAMPLE, *arguments)
            self.assertEqual((run.returncode, run.stdout), (code, ""), arguments)
            self.assertIn(said, run.stderr)
        self.assertEqual(self.files(), [])


tool.main()
