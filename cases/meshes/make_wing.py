"""Makes wing.su2.xz: a swept, tapered wing on a symmetry plane, in tetrahedra.

    pip install gmsh numpy
    python make_wing.py [OUT.su2]

The planform is that of the ONERA M6 wing (Schmitt and Charpin, AGARD AR-138, 1979: leading edge swept by 30 degrees,
aspect ratio 3.8, taper 0.562), scaled to a root chord of 1; the section is the NACA 0010 with a sharp trailing edge
(last coefficient -0.1036), the same from root to tip, the tip is cut off flat. Markers: wing, symmetry, farfield.
"""

import lzma
import os
import sys

import gmsh
import numpy as np

ROOT, TIP = 1.0, 0.562
SPAN = 1.4760  # semispan over root chord
SWEEP = np.radians(30.0)
THICKNESS = 0.10
RADIUS = 30.0
# mesh size on the wing, at its edges, growth with distance; in root chords
H_WING, H_EDGE, GROWTH, H_MAX = 0.075, 0.020, 0.22, 10.0


def section(chord, x0, y, points=41):
    """Upper side from trailing to leading edge, then the lower side back."""
    t = (1.0 - np.cos(np.linspace(0.0, np.pi, points))) / 2.0
    half = 5.0 * THICKNESS * (
        0.2969 * np.sqrt(t) - 0.1260 * t - 0.3516 * t**2 + 0.2843 * t**3 - 0.1036 * t**4
    )
    half[-1] = 0.0
    add = gmsh.model.occ.addPoint
    upper = [add(x0 + chord * x, y, chord * z) for x, z in zip(t, half)]
    lower = [add(x0 + chord * x, y, -chord * z) for x, z in zip(t[1:-1], half[1:-1])]
    top = gmsh.model.occ.addSpline(upper[::-1])
    bottom = gmsh.model.occ.addSpline([upper[0], *lower, upper[-1]])
    return gmsh.model.occ.addCurveLoop([top, bottom])


def main(out):
    gmsh.initialize()
    gmsh.option.setNumber("General.Terminal", 0)
    occ, mesh = gmsh.model.occ, gmsh.model.mesh
    loops = [section(ROOT, 0.0, 0.0), section(TIP, SPAN * np.tan(SWEEP), SPAN)]
    (wing,) = [t for d, t in occ.addThruSections(loops, makeSolid=True, makeRuled=True) if d == 3]
    ball = occ.addSphere(0.5, 0.0, 0.0, RADIUS)
    box = occ.addBox(-2 * RADIUS, 0.0, -2 * RADIUS, 4 * RADIUS, 2 * RADIUS, 4 * RADIUS)
    half, _ = occ.intersect([(3, ball)], [(3, box)])
    fluid, _ = occ.cut(half, [(3, wing)])
    occ.synchronize()

    groups = {"wing": [], "symmetry": [], "farfield": []}
    for _, face in gmsh.model.getBoundary(fluid, oriented=False):
        low, high = np.split(np.array(gmsh.model.getBoundingBox(2, face)), 2)
        if high[1] < 1e-4:
            groups["symmetry"].append(face)
        elif np.abs(np.concatenate([low, high])).max() > RADIUS / 2:
            groups["farfield"].append(face)
        else:
            groups["wing"].append(face)
    for name, faces in groups.items():
        gmsh.model.addPhysicalGroup(2, faces, name=name)
    gmsh.model.addPhysicalGroup(3, [t for _, t in fluid], name="fluid")

    edges = gmsh.model.getBoundary([(2, f) for f in groups["wing"]], combined=False, oriented=False)
    field = mesh.field
    sizes = []
    for kind, tags, size in [("SurfacesList", groups["wing"], H_WING), ("CurvesList", [t for _, t in edges], H_EDGE)]:
        distance = field.add("Distance")
        field.setNumbers(distance, kind, sorted(set(tags)))
        field.setNumber(distance, "Sampling", 100)
        law = field.add("MathEval")
        field.setString(law, "F", f"{size} + {GROWTH} * F{distance}")
        sizes.append(law)
    smallest = field.add("Min")
    field.setNumbers(smallest, "FieldsList", sizes)
    field.setAsBackgroundMesh(smallest)
    for option in ("MeshSizeExtendFromBoundary", "MeshSizeFromPoints", "MeshSizeFromCurvature"):
        gmsh.option.setNumber(f"Mesh.{option}", 0)
    gmsh.option.setNumber("Mesh.MeshSizeMax", H_MAX)
    gmsh.option.setNumber("Mesh.Algorithm3D", 1)
    mesh.generate(3)
    mesh.optimize("Netgen")
    gmsh.write(out)
    nodes = len(mesh.getNodes()[0])
    gmsh.finalize()
    shorten(out)
    with open(out, "rb") as plain, lzma.open(out + ".xz", "wb", preset=9) as packed:
        packed.write(plain.read())
    print(nodes, "nodes,", os.path.getsize(out + ".xz"), "bytes packed")


def shorten(path):
    """Coordinates to seven digits: half the file, and no difference to the flow."""
    lines, points = [], 0
    with open(path) as file:
        for line in file:
            if points:
                x = line.split()
                line = " ".join(f"{float(v):.7g}" for v in x[:3]) + f" {x[3]}\n"
                points -= 1
            elif line.startswith("NPOIN="):
                points = int(line.split("=")[1])
            lines.append(line)
    with open(path, "w") as file:
        file.writelines(lines)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "wing.su2")
