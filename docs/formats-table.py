#!/usr/bin/env python3
"""Which files of a data folder Chromaflow reads, as the Markdown table of docs/src/formats.md.

    docs/formats-table.py CHROMAFLOW DATA_FOLDER > tables.md

The second table is what Gmsh, meshio, VTK (`pip install gmsh meshio pyvista`) and the CGNS library's tools (`apt install
cgns-convert`) make of the formats.

Every mesh below the folder, packed or not, goes through `chromaflow mesh info` and `chromaflow mesh check`. `mesh check`
says `good` where it ends with status 0, else its first defect; what is refused stands with the reason. Then the mesh of
`chromaflow mesh generate box-mixed` is written in each format and read by them, and what they write of it is read here.
"""

import contextlib
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

MESHES = re.compile(r"\.(su2|ugrid|msh|meshb|cgns|p3dfmt|p2dfmt|p3dbin|fmt|vtu)(\.(gz|xz|zst))?$")


def run(program, words):
    """Status, first line that says something, everything."""
    try:
        done = subprocess.run([program, *words], capture_output=True, text=True, timeout=600)
    except subprocess.TimeoutExpired:
        return 1, "no end within 10 minutes", ""
    lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    return done.returncode, lines[0] if lines else "", done.stdout


def short(text, folder):
    """Without the names of folders and the beginning that names the file, and safe in a table."""
    text = re.sub(r"^error: ", "", text.replace(f"{folder}/", ""))
    text = re.sub(r"^\S+: ", "", text)
    return text.replace("|", "\\|")


def counts(found):
    """Nodes and elements of what `mesh info --json` wrote."""
    if "blocks" in found:
        points = sum(b["points"][0] * b["points"][1] * b["points"][2] for b in found["blocks"])
        blocks = len(found["blocks"])
        return points, f"{blocks} block{'s' * (blocks > 1)}, {found['cells']:,} cells"
    kinds = [f"{e['count']:,} {e['kind']}" for e in found["elements"] if e["count"]]
    return found["nodes"], ", ".join(kinds)


def row(program, path, folder, scratch):
    name = path.relative_to(folder)
    # Where the map of codes has another name than the mesh and is the only one that begins as the mesh does.
    words, stem = [str(path)], path.name.split(".")[0]
    maps = [m for m in path.parent.glob("*.mapbc") if stem.startswith(m.stem)]
    if ".ugrid" in path.name and len(maps) == 1:
        words += ["--mapbc", str(maps[0])]
    summary = Path(scratch) / "info.json"
    status, said, _ = run(program, ["mesh", "info", *words, "--json", str(summary)])
    if status != 0:
        return False, f"| `{name}` | | | | {short(said, folder)} |"
    found = json.loads(summary.read_text())
    nodes, elements = counts(found)
    status, said, _ = run(program, ["mesh", "check", *words])
    said = "good" if status == 0 else short(said, folder)
    return status == 0, f"| `{name}` | {found['format']} | {nodes:,} | {elements} | {said} |"


def with_meshio(path):
    import meshio

    mesh = meshio.read(path)
    cells = [c for c in mesh.cells if c.type in ("tetra", "pyramid", "wedge", "hexahedron")]
    return len(mesh.points), sum(len(c.data) for c in cells)


def with_gmsh(path):
    import gmsh

    gmsh.initialize()
    gmsh.option.setNumber("General.Terminal", 0)
    try:
        gmsh.open(str(path))
        found = len(gmsh.model.mesh.getNodes()[0]), sum(map(len, gmsh.model.mesh.getElements(3)[1]))
    finally:
        gmsh.finalize()
    return found


def with_vtk(path):
    import pyvista

    mesh = pyvista.read(path)
    fills = [10, 12, 13, 14]  # without boundary faces
    return mesh.n_points, int(sum(mesh.celltypes == kind for kind in fills).sum())


def with_vtk_reader(reader):
    """Counts by one of VTK's own readers, over all blocks."""

    def read(path):
        import pyvista
        import vtk

        source = getattr(vtk, reader)()
        source.SetFileName(str(path))
        source.Update()
        mesh = pyvista.wrap(source.GetOutput())
        mesh = mesh.combine() if isinstance(mesh, pyvista.MultiBlock) else mesh
        return mesh.n_points, mesh.n_cells

    return read


def with_cgns_library(path):
    """What `cgnscheck` says of it, and the counts of what `cgnsconvert` makes of it (ADF)."""
    said = subprocess.run(["cgnscheck", str(path)], capture_output=True, text=True, timeout=600)
    faults = [line for line in said.stdout.splitlines() if line.startswith("ERROR")]
    if said.returncode or faults:
        raise ValueError("; ".join(faults) or said.stderr)
    back = path.with_name("adf.cgns")
    subprocess.run(["cgnsconvert", "-a", str(path), str(back)], capture_output=True, check=True, timeout=600)
    return ours(sys.argv[1], back)


def markers(program, path):
    """Names of the markers that `mesh info` finds."""
    summary = path.with_name("markers.json")
    run(program, ["mesh", "info", str(path), "--json", str(summary)])
    return {marker["name"] for marker in json.loads(summary.read_text())["markers"]}


def ours(program, path):
    summary = path.with_name("back.json")
    summary.unlink(missing_ok=True)
    status, said, _ = run(program, ["mesh", "info", str(path), "--json", str(summary)])
    if status != 0:
        raise ValueError(said)
    found = json.loads(summary.read_text())
    return found["nodes"], sum(e["count"] for e in found["elements"])


def attempt(job, path, wanted):
    try:
        found = job(path)
    except (Exception, SystemExit) as error:  # a reader's own, of any kind; meshio ends the program
        text = re.sub(r"\s+", " ", str(error)) or type(error).__name__
        return "no: " + short(text, path.parent)[:90]
    return "good" if found == wanted else f"other counts: {found}"


def write_with_gmsh(source, path):
    import gmsh

    gmsh.initialize()
    gmsh.option.setNumber("General.Terminal", 0)
    try:
        gmsh.open(str(source))
        gmsh.write(str(path))
    finally:
        gmsh.finalize()


def write_with_meshio(source, path):
    import meshio

    mesh = meshio.read(source.with_suffix(".meshb"))
    mesh.point_data.clear()
    meshio.write(path, mesh)


def write_with_vtk(source, path):
    import pyvista

    pyvista.read(source.with_suffix(".vtu")).save(path)


def others(program, folder):
    """One mesh through other programs: a row for each format and program."""
    begin = folder / "ours.msh"
    run(program, ["mesh", "generate", "box-mixed", str(begin)])
    run(program, ["mesh", "convert", str(begin), str(begin.with_suffix(".meshb"))])
    wanted, names = ours(program, begin), markers(program, begin)
    print(f"\nA box of all four types, {wanted[0]} nodes and {wanted[1]} elements:\n")
    print("| format | program | reads what is written here | is read here |\n|---|---|---|---|")
    gmsh, meshio = ("Gmsh", with_gmsh, write_with_gmsh), ("meshio", with_meshio, write_with_meshio)
    # Gmsh writes SU2 and does not read it, and reads CGNS only with geometry; meshio's writers of UGRID and of .msh fail on a mesh of several types.
    jobs = [("msh", gmsh), ("msh", ("meshio", with_meshio, None)), ("su2", ("Gmsh", None, write_with_gmsh)), ("su2", ("meshio", with_meshio, None)),
            *((e, ("meshio", with_meshio, None)) for e in ("ugrid", "b8.ugrid", "lb8.ugrid")), ("meshb", meshio),
            ("cgns", ("Gmsh", None, write_with_gmsh)), ("cgns", ("CGNS library", with_cgns_library, None)), ("cgns", ("VTK", with_vtk_reader("vtkCGNSReader"), None)),
            ("vtkhdf", ("VTK", with_vtk_reader("vtkHDFReader"), None)),
            ("vtu", ("VTK", with_vtk, write_with_vtk)), ("vtu", meshio)]
    for ending, (name, read, write) in jobs:
        file, back = folder / f"ours.{ending}", folder / f"theirs.{ending}"
        if file != begin:
            run(program, ["mesh", "convert", str(begin), str(file)])
        with contextlib.redirect_stdout(sys.stderr):
            forth = attempt(read, file, wanted) if read else ""
        there = ""
        if write:
            try:
                with contextlib.redirect_stdout(sys.stderr):
                    write(begin, back)
                there = attempt(lambda path: ours(program, path), back, wanted)
                if there == "good" and markers(program, back) != names:
                    there = "good, markers by number"
            except Exception as error:
                there = f"not written: {error}"
        print(f"| `.{ending}` | {name} | {forth} | {there} |", flush=True)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program, folder = sys.argv[1], Path(sys.argv[2]).resolve()
    meshes = sorted(p for p in folder.rglob("*") if MESHES.search(p.name))
    print("| file | format | nodes | elements | `mesh check` |\n|---|---|---:|---|---|")
    good = 0
    with tempfile.TemporaryDirectory() as scratch:
        for path in meshes:
            passed, line = row(program, path, folder, scratch)
            good += passed
            print(line, flush=True)
        print(f"\n{good} of {len(meshes)} files pass both.")
        others(program, Path(scratch))


if __name__ == "__main__":
    main()
