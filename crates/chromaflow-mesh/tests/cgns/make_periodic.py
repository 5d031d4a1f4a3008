"""Periodic meshes as Gmsh (4.15.2) writes them: python3 make_periodic.py, then xz."""

import math

import gmsh

gmsh.initialize()
gmsh.option.setNumber("General.Terminal", 0)
gmsh.option.setNumber("Mesh.MeshSizeMax", 0.3)
occ, mesh = gmsh.model.occ, gmsh.model.mesh


def center(entity):
    return occ.getCenterOfMass(*entity)


def those(dimension, inside):
    return [tag for d, tag in gmsh.model.getEntities(dimension) if inside(center((d, tag)))]


def finish(name, dimension, groups):
    for group, tags in groups.items():
        gmsh.model.addPhysicalGroup(dimension - 1, tags, name=group)
    gmsh.model.addPhysicalGroup(dimension, [tag for _, tag in gmsh.model.getEntities(dimension)], name="all")
    mesh.generate(dimension)
    gmsh.write(name + ".cgns")


def moved(x, y):
    return [1, 0, 0, x, 0, 1, 0, y, 0, 0, 1, 0, 0, 0, 0, 1]


gmsh.model.add("box")
occ.addBox(0, 0, 0, 1, 1, 1)
occ.synchronize()
sides = {}
for axis, letter in enumerate("xyz"):
    for value, end in ((0, "min"), (1, "max")):
        sides[letter + end] = those(2, lambda c: abs(c[axis] - value) < 1e-9)
mesh.setPeriodic(2, sides["xmax"], sides["xmin"], moved(1, 0))
mesh.setPeriodic(2, sides["ymax"], sides["ymin"], moved(0, 1))
finish("periodic_box", 3, sides)

gmsh.model.add("sector")
angle = math.radians(40)
line = occ.addLine(occ.addPoint(1, 0, 0), occ.addPoint(2, 0, 0))
fan = occ.revolve([(1, line)], 0, 0, 0, 0, 0, 1, angle)
occ.extrude([entity for entity in fan if entity[0] == 2], 0, 0, 0.6)
occ.synchronize()
low = those(2, lambda c: abs(c[1]) < 1e-9)
high = those(2, lambda c: abs(math.atan2(c[1], c[0]) - angle) < 1e-6)
c, s = math.cos(angle), math.sin(angle)
mesh.setPeriodic(2, high, low, [c, -s, 0, 0, s, c, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1])
rest = [tag for _, tag in gmsh.model.getEntities(2) if tag not in low + high]
finish("periodic_sector", 3, {"low": low, "high": high, "rest": rest})

gmsh.model.add("plane")
occ.addRectangle(0, 0, 0, 1, 1)
occ.synchronize()
left, right = those(1, lambda c: c[0] < 1e-9), those(1, lambda c: c[0] > 1 - 1e-9)
mesh.setPeriodic(1, right, left, moved(1, 0))
rest = [tag for _, tag in gmsh.model.getEntities(1) if tag not in left + right]
finish("periodic_plane", 2, {"left": left, "right": right, "rest": rest})
