#!/usr/bin/env python3
"""Runs the robustness suite with default settings and prints a table.

    python3 meshes.py FOLDER          # once: pip install gmsh numpy scipy
    python3 suite.py FOLDER [--program chromaflow] [--backend cuda] [--only WORD] [--scales 1e-3,1,1e3] [--write CASES] [KEY=VALUE...]

Each case is a mesh, a Mach number, an angle of attack and the conditions of its markers: nothing else is set but the most iterations.
With --write, a case file of each that converged, with what came out as [expect]: what `cases/robust/*.toml` were made with, for meshes in
`cases/robust/meshes`. Exit status 1 where one does not converge.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

WALL = {"wall": "slip_wall", "far": "farfield"}
HALF = {**WALL, "symmetry": "symmetry"}
TUNNEL = {"wall": "slip_wall", "inlet": "farfield", "outlet": "extrapolation"}
CHANNEL = {"wall": "slip_wall", "top": "slip_wall", "inlet": "farfield", "outlet": "farfield"}
NOSE = {"wall": "slip_wall", "far": "farfield", "outlet": "extrapolation"}
WEDGE = {**TUNNEL, "symmetry": "symmetry", "far": "farfield"}
# Mesh, Mach numbers, angle of attack, conditions.
CASES = [
    ("airfoil_triangles", [0.3, 0.8], 1.25, WALL),
    ("airfoil_mixed", [0.3, 0.8], 1.25, WALL),
    ("airfoil_quads", [0.3, 0.8], 1.25, WALL),
    ("step", [3], 0, TUNNEL),
    ("double_wedge", [3, 9], 0, WEDGE),
    ("bump", [0.01, 0.1, 0.5], 0, CHANNEL),
    ("cylinder", [0.01, 0.1, 0.38], 0, WALL),
    ("sphere", [2, 6, 10], 0, HALF),
    ("blunt_quads", [2, 6, 10, 20], 0, NOSE),
    ("sphere_hexes", [2, 6, 10], 0, NOSE),
    ("ogive", [1.1, 2], 0, {**HALF, "base": "slip_wall"}),
    ("delta_wing", [0.3, 2], 10, HALF),
    ("slivers", [0.3, 0.8, 2], -5, WALL),
    ("hubs", [0.3, 0.8, 2], -5, WALL),
]


def lines_of(mesh, mach, alpha, conditions):
    lines = [f'[mesh]\nfile = "{mesh}.msh"', f"\n[flow]\nmach = {mach}\nalpha = {alpha}", "\n[boundary]"]
    return lines + [f'{marker} = "{kind}"' for marker, kind in conditions.items()]


def write(folder, name, mach, alpha, conditions, told):
    title = f"{name.replace('_', ' ')} of the robustness suite, M {mach}, default settings"
    lines = [f'[case]\ntitle = "{title}"\ndescription = "Made by suite.py; the mesh by meshes.py."\n']
    lines += lines_of(f"meshes/{name}", mach, alpha, conditions)
    cl, cd = told["forces"]["cl"], told["forces"]["cd"]
    # Another release of Gmsh places nodes differently.
    tolerance = 0.003 + 0.01 * max(abs(cl), abs(cd))
    lines += [f"\n[march]\niterations = 300\n\n[expect]\ncl = {cl:.4f}\ncd = {cd:.4f}\ntolerance = {tolerance:.4f}"]
    lines += [f"residual_orders_at_least = 10.0\niterations_at_most = {int(1.3 * told['iterations'] + 10)}\n"]
    (folder / f"{name}_m{mach}.toml").write_text("\n".join(lines))


def run(options, folder, name, mach, alpha, conditions, scale):
    lines = lines_of(folder / name, mach, alpha, conditions)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        if scale != 1:
            mesh = scratch / "mesh.msh"
            scaled(folder / f"{name}.msh", mesh, scale)
            lines[0] = f'[mesh]\nfile = "{mesh}"'
        case, result = scratch / "case.toml", scratch / "summary.json"
        case.write_text("\n".join(lines) + "\n")
        command = [options.program, "-q", "--backend", options.backend, "--json", result, "run", case, "--out", scratch / "out"]
        for key in ["output.plots=false", "march.iterations=300", *options.set]:
            command += ["--set", key]
        told = subprocess.run(command, capture_output=True, text=True)
        if not result.exists():
            return None, told.stderr.strip().splitlines()[-1:]
        return json.loads(result.read_text()), None


def scaled(source, target, scale):
    """The mesh with all places times `scale`: Gmsh 2.2 files have them between $Nodes and $EndNodes."""
    lines, inside = source.read_text().splitlines(), False
    for k, line in enumerate(lines):
        if line == "$Nodes":
            inside, start = True, k
        elif line == "$EndNodes":
            inside = False
        elif inside and k > start + 1:
            number, *place = line.split()
            lines[k] = " ".join([number] + [repr(float(v) * scale) for v in place])
    target.write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--program", default="chromaflow")
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--only", default="")
    parser.add_argument("--scales", default="1")
    parser.add_argument("--write", type=Path)
    parser.add_argument("set", nargs="*")
    options = parser.parse_intermixed_args()
    folder, failed = options.folder.resolve(), 0
    print("| case | scale | outcome | iterations | orders | seconds | CL | CD |\n|---|---|---|---|---|---|---|---|")
    for name, machs, alpha, conditions in CASES:
        for mach in machs:
            if options.only not in f"{name} {mach}":
                continue
            for scale in map(float, options.scales.split(",")):
                told, error = run(options, folder, name, mach, alpha, conditions, scale)
                label = f"| {name}, M {mach} | {scale:g} |"
                if told is None:
                    print(label, f"{error} | | | | | |", flush=True)
                    failed += 1
                    continue
                failed += told["outcome"] != "converged"
                forces, time = told["forces"], told["time"]
                if options.write and told["outcome"] == "converged" and scale == 1:
                    write(options.write, name, mach, alpha, conditions, told)
                print(
                    label,
                    f"{told['outcome']} | {told['iterations']} | {told['residual_orders']:.1f} | {time['total_s']:.1f} |"
                    f" {forces['cl']:.4f} | {forces['cd']:.5f} |",
                    flush=True,
                )
    print(f"\n{failed} did not converge" if failed else "\nall converged")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
