#!/usr/bin/env python3
"""PETSc's preconditioners and ours in PETSc's own program ex10, on matrices of flow codes: iterations, set-up plus solve, one application.

    cargo xtask install PREFIX
    interop/petsc/compare.py PREFIX MATRICES... [--runs 7] [--json FILE]

MATRICES: PETSc's binary files, or packed by xz, with their .info beside them. Debian's packages libpetsc-real-dev and petsc3.18-doc have the rest.
Each figure is the best of the runs; runs of all preconditioners alternate, so that the machine is the same to all.
"""

import argparse
import html
import json
import lzma
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
PAGE = Path("/usr/share/doc/petsc3.18-doc/docs/src/ksp/ksp/tutorials/ex10.c.html")
COMMON = "-ksp_type fgmres -ksp_gmres_restart 60 -ksp_rtol 1e-10 -ksp_max_it 1500 -log_view"
THEIRS = {
    "sor": "-pc_type sor",
    "sor forward": "-pc_type sor -pc_sor_forward",
    "ilu": "-pc_type ilu",
    "ilu rcm": "-pc_type ilu -pc_factor_mat_ordering_type rcm",
    "jacobi": "-pc_type pbjacobi",
}
OURS = {
    "default": "",
    "ilu0 natural d": "preconditioner=ilu0,order=natural,policy=d",
    "ssor": "preconditioner=ssor",
    "gauss_seidel": "preconditioner=gauss_seidel",
    "multicolor": "preconditioner=multicolor",
}


def sh(*words, **more):
    return subprocess.run([str(w) for w in words], check=True, capture_output=True, text=True, **more).stdout


def listing(page):
    """The program of a page: its listing without marks and line numbers."""
    text = page.read_text(errors="replace")
    text = text[text.index("<pre") :]
    lines = text[text.index(">") + 1 : text.index("</pre>")].splitlines()
    plain = (html.unescape(re.sub("<[^>]*>", "", line)) for line in lines)
    return "\n".join(re.sub(r"^\s*\d+: ?", "", line) for line in plain) + "\n"


def build(prefix, folder):
    """ex10 and the plugin, from packages and the installed library alone."""
    env = os.environ | {"PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig"}
    flags = sh("pkg-config", "--cflags", "--libs", "chromaflow", "PETSc", env=env).split()
    (folder / "ex10.c").write_text(listing(PAGE))
    sh("mpicc", "-O2", "-w", folder / "ex10.c", "-o", folder / "ex10", *flags, "-lm")
    plugin = folder / "libpc_chromaflow.so"
    rpath = f"-Wl,-rpath,{prefix}/lib"
    sh("mpicc", "-O2", "-shared", "-fPIC", HERE / "pc_chromaflow.c", "-o", plugin, *flags, rpath)
    return plugin


def unpacked(matrix, folder):
    if matrix.suffix != ".xz":
        return matrix
    to = folder / matrix.stem
    to.write_bytes(lzma.decompress(matrix.read_bytes()))
    shutil.copy(matrix.with_suffix(".info"), f"{to}.info")
    return to


def run(folder, matrix, words):
    """Iterations and milliseconds: set-up plus solve, set-up, one application. None: no convergence."""
    kind = "aij -mat_no_inode" if "sor" in words and "chromaflow" not in words and matrix.stem.endswith("bs1") else "baij"
    said = sh(folder / "ex10", "-f", matrix, *f"-mat_type {kind} {COMMON} {words}".split())
    iterations = int(re.search(r"Number of iterations = *(\d+)", said)[1])

    def event(name):
        # The program does all twice, the first time to have it loaded.
        count, seconds = re.findall(rf"^{name} +(\d+) [\d.]+ ([\d.e+-]+)", said, re.M)[-1]
        return int(count), 1e3 * float(seconds)

    setup, solve, (applied, apply) = event("PCSetUp")[1], event("KSPSolve")[1], event("PCApply")
    if iterations >= 1500:
        return None
    return iterations, setup + solve, setup, apply / applied


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefix", type=Path)
    parser.add_argument("matrices", type=Path, nargs="+")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", nargs="+", help="these preconditioners, by their names in the table")
    args = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plugin = build(args.prefix.absolute(), folder)
        mine = {k: f"-dll_append {plugin} -pc_type chromaflow" + (f" -pc_chromaflow {v}" if v else "") for k, v in OURS.items()}
        for packed in args.matrices:
            matrix = unpacked(packed, folder)
            found = {}
            for _ in range(args.runs):
                for key, words in (THEIRS | mine).items():
                    if (args.only and key not in args.only) or (key in found and found[key] is None):
                        continue
                    now = run(folder, matrix, words)
                    if now is None or key not in found:
                        found[key] = now
                    else:
                        found[key] = tuple(min(a, b) for a, b in zip(found[key], now))
            results[matrix.stem] = found
            print(f"\n{matrix.stem}\n{'':16} iterations   all ms  set-up ms  apply ms")
            for key, row in found.items():
                text = "none in 1500" if row is None else "{:10d} {:8.2f} {:10.2f} {:9.3f}".format(*row)
                print(f"{key:16} {text}")
            best = min(found[k][1] for k in THEIRS if found.get(k))
            print(f"ours by default is {best / found['default'][1]:.2f} times as fast as PETSc's best", flush=True)
    if args.json:
        args.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
