#!/usr/bin/env python3
"""The Debian package of a finished build: deb.py BUILD SOURCE. Exit 77: no dpkg-deb.

Its parts are where Debian looks for them, its dependencies are those of the binary, the tool runs
from it and its headers and library are found. As root with TOKENROOF_INSTALL_DEB set it is also
installed and removed.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

BUILD, SOURCE = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
PARTS = ["usr/bin/tokenroof", "usr/include/tokenroof/tokenroof.hpp",
         "usr/share/cmake/tokenroof/tokenroofConfig.cmake", "usr/share/pkgconfig/tokenroof.pc",
         "usr/share/man/man1/tokenroof.1", "usr/share/bash-completion/completions/tokenroof",
         "usr/share/zsh/vendor-completions/_tokenroof",
         "usr/share/fish/vendor_completions.d/tokenroof.fish", "usr/share/doc/tokenroof/copyright",
         "usr/share/doc/tokenroof/README.md", "usr/share/doc/tokenroof/formulas.md",
         "usr/share/tokenroof/schema/scenario.json"]


def run(*command, **more):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"failed: {command}\n{done.stdout}{done.stderr}")
    return done.stdout


def main():
    if not shutil.which("dpkg-deb"):
        print("no dpkg-deb here")
        return 77
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        run("cpack", "-G", "DEB", "--config", BUILD / "CPackConfig.cmake", "-B", work, cwd=BUILD)
        (package,) = work.glob("*.deb")
        depends = run("dpkg-deb", "--field", package, "Depends")
        for needed in ("libc6", "libstdc++6", "libfmt"):
            assert needed in depends, depends
        root = work / "root"
        run("dpkg-deb", "-x", package, root)
        missing = [part for part in PARTS if not (root / part).exists()]
        assert not missing, missing
        assert list((root / "usr/lib").rglob("libtokenroof_io.a"))
        tool = root / "usr/bin/tokenroof"
        example = SOURCE / "examples/specs/llama-70b-8xh100.json"
        assert '"feasible"' in run(tool, "estimate", example, "--json")
        run(tool, "list", "models", "--data", root / "usr/share/tokenroof")
        build = work / "consumer"
        run("cmake", "-S", SOURCE / "tests/consumer", "-B", build, "-DWAY=find_package",
            f"-DCMAKE_PREFIX_PATH={root / 'usr'}")
        run("cmake", "--build", build)
        run(build / "consumer")
        if os.environ.get("TOKENROOF_INSTALL_DEB") and os.geteuid() == 0:
            run("dpkg", "-i", package)
            assert shutil.which("tokenroof") == "/usr/bin/tokenroof"
            run("tokenroof", "estimate", example)
            run("dpkg", "-r", "tokenroof")
        print(f"{package.name}: {package.stat().st_size // 1024} KiB; needs {depends.strip()}")
    return 0


sys.exit(main())
