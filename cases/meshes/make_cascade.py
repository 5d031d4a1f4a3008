"""A row of NACA 0012 airfoils, pitch 1, triangles, with periodic sides: cases/meshes/cascade.msh.xz (Gmsh 4, `pip install gmsh`)."""

import lzma
import math
import os

import gmsh

PITCH, LEFT, RIGHT, NEAR, FAR, POINTS = 1.0, -1.0, 2.0, 0.012, 0.09, 60


def thickness(x):
    a = (0.2969, -0.1260, -0.3516, 0.2843, -0.1036)  # closed trailing edge
    return 0.6 * (a[0] * math.sqrt(x) + sum(c * x ** (k + 1) for k, c in enumerate(a[1:])))


gmsh.initialize()
gmsh.option.setNumber("General.Terminal", 0)
gmsh.model.add("cascade")
geo = gmsh.model.geo
xs = [0.5 * (1 - math.cos(math.pi * i / POINTS)) for i in range(POINTS + 1)]
nose, tail = geo.addPoint(0, 0, 0, NEAR), geo.addPoint(1, 0, 0, NEAR)
upper = [nose] + [geo.addPoint(x, thickness(x), 0, NEAR) for x in xs[1:-1]] + [tail]
lower = [nose] + [geo.addPoint(x, -thickness(x), 0, NEAR) for x in xs[1:-1]] + [tail]
blade = [geo.addSpline(upper), geo.addSpline(lower)]
corners = [(LEFT, -0.5), (RIGHT, -0.5), (RIGHT, 0.5), (LEFT, 0.5)]
p = [geo.addPoint(x, y * PITCH, 0, FAR) for x, y in corners]
floor, outlet, roof, inlet = (geo.addLine(p[i], p[(i + 1) % 4]) for i in range(4))
outer = geo.addCurveLoop([floor, outlet, roof, inlet])
inner = geo.addCurveLoop([blade[0], -blade[1]])
fluid = geo.addPlaneSurface([outer, inner])
geo.synchronize()
gmsh.model.mesh.setPeriodic(1, [roof], [floor], [1, 0, 0, 0, 0, 1, 0, PITCH, 0, 0, 1, 0, 0, 0, 0, 1])
for name, curves in [("airfoil", blade), ("inlet", [inlet]), ("outlet", [outlet]), ("floor", [floor]), ("roof", [roof])]:
    gmsh.model.addPhysicalGroup(1, curves, name=name)
gmsh.model.addPhysicalGroup(2, [fluid], name="fluid")
gmsh.model.mesh.generate(2)
gmsh.write("cascade.msh")
gmsh.finalize()
here = os.path.dirname(os.path.abspath(__file__))
with open("cascade.msh", "rb") as plain, lzma.open(os.path.join(here, "cascade.msh.xz"), "wb", preset=9) as packed:
    packed.write(plain.read())
os.remove("cascade.msh")
