"""What the scripts that make meshes with Gmsh share: a list of meshes, markers, polygons."""

import gmsh

MADE = {}


def mesh(function):
    MADE[function.__name__] = function
    return function


def mark(dim, name, tags):
    gmsh.model.addPhysicalGroup(dim, tags, name=name)


def polygon(corners, names, size=0):
    """A planar domain; names[k] is the marker of the side from corner k on, size that of its cells, 0 for what a field says."""
    geo = gmsh.model.geo
    points = [geo.addPoint(x, y, 0, size) for x, y in corners]
    sides = [geo.addLine(points[k], points[(k + 1) % len(points)]) for k in range(len(points))]
    surface = geo.addPlaneSurface([geo.addCurveLoop(sides)])
    geo.synchronize()
    for name in sorted(set(names)):
        mark(1, name, [side for side, of in zip(sides, names) if of == name])
    mark(2, "fluid", [surface])
    return points, sides, surface
