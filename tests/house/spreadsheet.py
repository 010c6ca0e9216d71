#!/usr/bin/env python3
"""A sweep's CSV opened in LibreOffice, to xlsx and back: every number and text must survive.

Numbers to 15 digits, which is what it writes.

Both dialects, each in its locale: comma in English, semicolon in German. Exit 77: no LibreOffice.
"""
import csv
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile

TOOL = sys.argv[1]
SCENARIO = """{"model": "llama-3.1-8b", "accelerator": "h100-sxm-80gb", "comment": "Muenchen",
  "precision": {"weights": "fp8"}, "workload": {"batch": 1, "context_tokens": 1000}}"""
AXES = ["--axis", "accelerator=h100-sxm-80gb,a100-sxm-80gb", "--axis", "batch=1:100000:x10",
        "--axis", "context=1k,8k"]
# Separator, text delimiter, UTF-8, first line, formats, language, quoted, detect special numbers.
DIALECTS = {"comma": (",", ".", "44,34,76,1,,1033,false,false"),
            "semicolon": (";", ",", "59,34,76,1,,1031,false,false")}
BACK = "44,34,76,1,,1033,false,false"  # full precision, not as shown


def convert(source, target, to, infilter, home):
    command = ["soffice", f"-env:UserInstallation=file://{home}", "--headless", "--norestore"]
    command += [f"--infilter={infilter}"] if infilter else []
    command += ["--convert-to", to, "--outdir", str(target.parent), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if not target.exists():
        sys.exit(f"LibreOffice made no {target.name}: {done.stdout}{done.stderr}")


def number(text, decimal):
    try:
        return float(text.replace(decimal, "."))
    except ValueError:
        return None


def rows(path, separator):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file, delimiter=separator))


def same(before, after, decimal):
    x, y = number(before, decimal), number(after, ".")
    if x is not None and y is not None:
        return math.isclose(x, y, rel_tol=5e-15)
    return before == after


def main():
    if not shutil.which("soffice"):
        print("no soffice here")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        scenario = folder / "scenario.json"
        scenario.write_text(SCENARIO)
        for dialect, (separator, decimal, infilter) in DIALECTS.items():
            written = folder / f"{dialect}.csv"
            subprocess.run([TOOL, "sweep", scenario, *AXES, "--csv-dialect", dialect, "-o", written],
                           check=True)
            sheet = folder / f"{dialect}.xlsx"
            convert(written, sheet, "xlsx:Calc MS Excel 2007 XML",
                    f"Text - txt - csv (StarCalc):{infilter}", folder / "home")
            again = folder / "back" / f"{dialect}.csv"
            again.parent.mkdir(exist_ok=True)
            convert(sheet, again, f"csv:Text - txt - csv (StarCalc):{BACK}", None, folder / "home")
            before, after = rows(written, separator), rows(again, ",")
            assert len(before) == len(after) == 1 + 2 * 6 * 2, (len(before), len(after))
            faults = [(before[0][j], x, y) for one, other in zip(before, after)
                      for j, (x, y) in enumerate(zip(one, other)) if not same(x, y, decimal)]
            numbers = sum(number(x, decimal) is not None for row in before[1:] for x in row)
            if faults or numbers < 500 or any(len(row) != len(before[0]) for row in after):
                print(f"{dialect}: {len(faults)} cells differ:", *faults[:10], sep="\n  ")
                return 1
            print(f"{dialect}: {numbers} numbers and the texts around them are the same")
    return 0


sys.exit(main())
