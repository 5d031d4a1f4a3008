#!/usr/bin/env python3
"""NACA 0021 at 60 degrees, detached eddies: a mesh, layers of hexahedra at the wall and prisms off it, and its case. Needs gmsh.

    python3 naca0021.py FOLDER [span in chords] [cells along it] [size in the wake]
"""

import math
import sys
from pathlib import Path

import gmsh

FOLDER = Path(sys.argv[1])
SPAN = float(sys.argv[2]) if len(sys.argv) > 2 else 2.0
NZ = int(sys.argv[3]) if len(sys.argv) > 3 else 40
H = float(sys.argv[4]) if len(sys.argv) > 4 else 0.052
ALPHA = math.radians(60)
A = (0.2969, -0.1260, -0.3516, 0.2843, -0.1036)


def thickness(x):
    return 5 * 0.21 * (A[0] * math.sqrt(x) + sum(a * x ** (k + 1) for k, a in enumerate(A[1:])))


gmsh.initialize()
gmsh.option.setNumber("General.Terminal", 0)
geo = gmsh.model.geo
N = 60
xs = [0.5 * (1 - math.cos(math.pi * k / N)) for k in range(N + 1)]
turn = lambda x, y: (x * math.cos(ALPHA) + y * math.sin(ALPHA), -x * math.sin(ALPHA) + y * math.cos(ALPHA))
point = lambda x, y, h: geo.addPoint(*turn(x, y), 0.0, h)
nose, end = point(0, 0, 0.01), point(1, 0, 0.01)
upper = [point(x, thickness(x), 0.015) for x in xs[1:-1]]
lower = [point(x, -thickness(x), 0.015) for x in xs[1:-1]]
up = geo.addSpline([nose, *upper, end])
low = geo.addSpline([nose, *lower, end])
R = 15.0
ring = [geo.addPoint(R * math.cos(t), R * math.sin(t), 0, 2.0) for t in (0, math.pi / 2, math.pi, 1.5 * math.pi)]
centre = geo.addPoint(0, 0, 0)
arcs = [geo.addCircleArc(ring[k], centre, ring[(k + 1) % 4]) for k in range(4)]
surface = geo.addPlaneSurface([geo.addCurveLoop(arcs), geo.addCurveLoop([up, -low])])
geo.synchronize()
field = gmsh.model.mesh.field
layers = field.add("BoundaryLayer")
field.setNumbers(layers, "CurvesList", [up, low])
field.setNumber(layers, "Size", 1e-4)
field.setNumber(layers, "Ratio", 1.25)
field.setNumber(layers, "Thickness", 0.05)
field.setNumber(layers, "Quads", 1)
field.setNumbers(layers, "FanPointsList", [end])
field.setAsBoundaryLayer(layers)
boxes = []
for (size, box) in ((H, (-0.6, 2.6, -1.7, 0.9)), (1.8 * H, (-0.9, 5.5, -2.6, 1.8)), (5 * H, (-2.5, 11.0, -4.5, 3.5))):
    b = field.add("Box")
    field.setNumber(b, "VIn", size)
    field.setNumber(b, "VOut", 2.0)
    for name, value in zip(("XMin", "XMax", "YMin", "YMax"), box):
        field.setNumber(b, name, value)
    field.setNumber(b, "Thickness", 6.0)
    boxes.append(b)
wall = field.add("Distance")
field.setNumbers(wall, "CurvesList", [up, low])
field.setNumber(wall, "Sampling", 400)
near = field.add("Threshold")
field.setNumber(near, "InField", wall)
for name, value in (("SizeMin", 0.015), ("SizeMax", H), ("DistMin", 0.02), ("DistMax", 0.25)):
    field.setNumber(near, name, value)
field.setNumber(near, "StopAtDistMax", 1)
least = field.add("Min")
field.setNumbers(least, "FieldsList", boxes + [near])
field.setAsBackgroundMesh(least)
for key in ("MeshSizeExtendFromBoundary", "MeshSizeFromPoints", "MeshSizeFromCurvature"):
    gmsh.option.setNumber("Mesh." + key, 0)
swept = geo.extrude([(2, surface)], 0, 0, SPAN, numElements=[NZ], recombine=True)
geo.synchronize()
volume = [e for d, e in swept if d == 3]
sides = [e for d, e in swept if d == 2]
gmsh.model.addPhysicalGroup(3, volume, name="air")
gmsh.model.addPhysicalGroup(2, [surface], name="front")
gmsh.model.addPhysicalGroup(2, [sides[0]], name="back")
gmsh.model.addPhysicalGroup(2, sides[1:5], name="farfield")
gmsh.model.addPhysicalGroup(2, sides[5:], name="wing")
gmsh.model.mesh.generate(3)
FOLDER.mkdir(parents=True, exist_ok=True)
gmsh.write(str(FOLDER / "naca0021.su2"))
print(len(gmsh.model.mesh.getNodes()[0]), "nodes")
gmsh.finalize()
(FOLDER / "case.toml").write_text(
    f"""[case]
title = "NACA 0021 at 60 degrees, DDES"

[mesh]
file = "naca0021.su2"

[flow]
equations = "rans"
mach = 0.1
reynolds = 270000

[turbulence]
model = "sa-noft2"
hybrid = "ddes"
grid_length = "across_vorticity"

[numerics]
limiter = "none"
kappa = 0.5

[linear]
method = "lines"
sweeps = 6

[march]
mode = "unsteady"
dt = 0.5
steps = 2600
subiterations = 8

[boundary]
wing = "no_slip"
farfield = "farfield"
front = {{ kind = "periodic", with = "back" }}

[reference]
lift_axis = "y"
area = {SPAN}

[output]
averages = ["velocity", "pressure", "hybrid_share"]
averages_from = 1000
samples_every = 20
"""
)
