#!/usr/bin/env python3
"""A header includes only lower layers (and its own); below analyze/ only the standard library. No
source is longer than 400 lines."""
import pathlib
import re
import sys

LAYERS = ["core", "describe", "physics", "serving", "decide", "analyze", "io"]
FOREIGN = ("nlohmann/", "fmt/", "Eigen/", "CLI/", "boost/", "xlsxwriter")
project = pathlib.Path(sys.argv[1])
root = project / "include" / "tokenroof"
faults = []
headers = sorted(root.rglob("*.hpp"))
for header in headers:
    layer = header.parent.name if header.parent != root else "umbrella"
    for number, line in enumerate(header.read_text().splitlines(), 1):
        include = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
        if not include:
            continue
        target = include.group(1)
        place = f"{header.relative_to(root)}:{number}"
        if target.startswith("tokenroof/"):
            wanted = target.split("/")[1]
            # io declares readers of everything but draws no conclusions: it may see all layers.
            if layer != "umbrella" and LAYERS.index(wanted) > LAYERS.index(layer):
                faults.append(f"{place}: {layer} includes {target} from a higher layer")
            if layer == "umbrella" and wanted in ("analyze", "io"):
                faults.append(f"{place}: the umbrella stays below analyze")
        elif target.startswith(FOREIGN) and not (layer == "analyze" and target.startswith("Eigen/")):
            faults.append(f"{place}: {layer} may not include {target}")
for folder in ("include", "src", "tests", "examples", "benchmarks"):
    for source in sorted((project / folder).rglob("*.[hcp][py]*")):
        length = len(source.read_text().splitlines())
        if length > 400:
            faults.append(f"{source.relative_to(project)}: {length} lines, more than 400")
print("\n".join(faults) if faults else f"{len(headers)} headers keep their layers")
sys.exit(bool(faults))
