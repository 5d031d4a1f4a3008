#!/usr/bin/env python3
"""Meshes of the robustness suite, made with Gmsh (PyPI: gmsh, numpy, scipy).

    python3 meshes.py FOLDER [NAME...]

Every mesh is small (2,000 to 30,000 nodes), coarse on purpose, and of a kind that default settings have failed on somewhere.
Gmsh 2.2 files with named markers; planar meshes lie in z = 0.
"""

import sys
from pathlib import Path

import gmsh
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from building import MADE, mark, mesh, polygon  # noqa: E402


def faces_where(predicate, dim=2):
    """Boundary entities whose bounding box satisfies `predicate(low, high)`."""
    found = []
    for _, tag in gmsh.model.getEntities(dim):
        box = gmsh.model.getBoundingBox(dim, tag)
        if predicate(np.array(box[:3]), np.array(box[3:])):
            found.append(tag)
    return found


def size_near(entities, dim, near, far, distance):
    """Sizes from `near` at these entities to `far` at `distance` from them."""
    field = gmsh.model.mesh.field
    away = field.add("Distance")
    field.setNumbers(away, {0: "PointsList", 1: "CurvesList", 2: "SurfacesList"}[dim], entities)
    field.setNumber(away, "Sampling", 200)
    ramp = field.add("Threshold")
    for key, value in [("InField", away), ("SizeMin", near), ("SizeMax", far), ("DistMin", 0.0), ("DistMax", distance)]:
        field.setNumber(ramp, key, value)
    field.setAsBackgroundMesh(ramp)
    for key in ["MeshSizeExtendFromBoundary", "MeshSizeFromPoints", "MeshSizeFromCurvature"]:
        gmsh.option.setNumber("Mesh." + key, 0)


def naca0012(points):
    """The closed section, from its trailing edge over the upper side and back, both ends excluded twice."""
    x = 0.5 * (1 - np.cos(np.linspace(0, np.pi, points)))
    y = 0.6 * (0.2969 * np.sqrt(x) - 0.126 * x - 0.3516 * x**2 + 0.2843 * x**3 - 0.1036 * x**4)
    return x, y


def airfoil_domain(radius=20.0, points=81):
    """Geometry: curves of the section, the far circle, and the surface between."""
    geo, (x, y) = gmsh.model.geo, naca0012(points)
    upper = [geo.addPoint(a, b, 0) for a, b in zip(x, y)]
    lower = [upper[0]] + [geo.addPoint(a, -b, 0) for a, b in zip(x[1:-1], y[1:-1])] + [upper[-1]]
    section = [geo.addSpline(upper), geo.addSpline(lower)]
    center = geo.addPoint(0.5, 0, 0)
    around = [geo.addPoint(0.5 + radius * c, radius * s, 0) for c, s in [(1, 0), (0, 1), (-1, 0), (0, -1)]]
    far = [geo.addCircleArc(around[k], center, around[(k + 1) % 4]) for k in range(4)]
    surface = geo.addPlaneSurface([geo.addCurveLoop(far), geo.addCurveLoop([section[0], -section[1]])])
    geo.synchronize()
    mark(1, "wall", section)
    mark(1, "far", far)
    mark(2, "fluid", [surface])
    return section, upper[-1]


@mesh
def airfoil_triangles():
    section, _ = airfoil_domain()
    size_near(section, 1, 0.012, 3.0, 20.0)


@mesh
def airfoil_mixed():
    """Quadrilaterals in a layer of 1e-4 chords at the wall, triangles beyond."""
    section, edge = airfoil_domain()
    size_near(section, 1, 0.015, 3.0, 20.0)
    layer = gmsh.model.mesh.field.add("BoundaryLayer")
    field = gmsh.model.mesh.field
    field.setNumbers(layer, "CurvesList", section)
    field.setNumbers(layer, "FanPointsList", [edge])
    for key, value in [("Size", 1e-4), ("Ratio", 1.25), ("Thickness", 0.05), ("Quads", 1)]:
        field.setNumber(layer, key, value)
    field.setAsBoundaryLayer(layer)


@mesh
def airfoil_quads():
    """An O-mesh with a first cell of 1e-5 chords: 160 x 64."""
    x, y = naca0012(81)
    section = np.concatenate([np.stack([x, y], 1)[::-1], np.stack([x, -y], 1)[1:-1]])
    angle = np.linspace(0, 2 * np.pi, len(section), endpoint=False)
    out = np.stack([0.5 + 20 * np.cos(angle), 20 * np.sin(angle)], 1)
    write_o_mesh(section, out, stretched(64, 1e-5 / 20))


def stretched(cells, first):
    """0 to 1 in geometric steps from `first` on."""
    low, high = 1.0, 3.0
    for _ in range(200):
        ratio = 0.5 * (low + high)
        low, high = (low, ratio) if first * (ratio**cells - 1) / (ratio - 1) > 1 else (ratio, high)
    steps = np.concatenate([[0], np.cumsum(first * ratio ** np.arange(cells))])
    return steps / steps[-1]


def write_o_mesh(inner, outer, at):
    n, layers = len(inner), len(at)
    # Normal to the wall near it, straight to the outer curve beyond.
    tangent = np.roll(inner, -1, 0) - np.roll(inner, 1, 0)
    normal = np.stack([tangent[:, 1], -tangent[:, 0]], 1)
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    reach = np.linalg.norm(outer - inner, axis=1)[:, None]
    if (normal * (inner - inner.mean(0))).sum() < 0:
        normal = -normal
    rows = []
    for t in at:
        straight = inner + t * (outer - inner)
        along = inner + t * reach * normal
        blend = min(1.0, t / 0.02)
        rows.append((1 - blend) * along + blend * straight)
    nodes = np.concatenate(rows)
    number = lambda layer, k: layer * n + k % n + 1
    quads = [[number(j, i), number(j, i + 1), number(j + 1, i + 1), number(j + 1, i)] for j in range(layers - 1) for i in range(n)]
    edges = {"wall": [[number(0, i), number(0, i + 1)] for i in range(n)], "far": [[number(layers - 1, i), number(layers - 1, i + 1)] for i in range(n)]}
    discrete(np.column_stack([nodes, np.zeros(len(nodes))]), (2, 3, quads), (1, 1, edges))


def discrete(nodes, cells, markers):
    """A mesh given by its nodes and elements: (dimension, Gmsh's type, elements) of cells, the same by name of markers."""
    dim, kind, elements = cells
    fluid = gmsh.model.addDiscreteEntity(dim)
    gmsh.model.mesh.addNodes(dim, fluid, list(range(1, len(nodes) + 1)), np.asarray(nodes, float).ravel())
    gmsh.model.mesh.addElementsByType(fluid, kind, [], np.asarray(elements).ravel())
    mark(dim, "fluid", [fluid])
    low, kind, groups = markers
    for name, group in groups.items():
        tag = gmsh.model.addDiscreteEntity(low)
        gmsh.model.mesh.addElementsByType(tag, kind, [], np.asarray(group).ravel())
        mark(low, name, [tag])


@mesh
def step():
    """The forward-facing step of Woodward and Colella."""
    polygon([(0, 0), (0.6, 0), (0.6, 0.2), (3, 0.2), (3, 1), (0, 1)], ["wall", "wall", "wall", "outlet", "wall", "inlet"], 0.025)


@mesh
def double_wedge():
    """15 and 25 degrees."""
    t = np.tan(np.radians([15, 25]))
    corners = [(-0.5, 0), (0, 0), (1, t[0]), (1.8, t[0] + 0.8 * t[1]), (1.8, 3), (-0.5, 3)]
    polygon(corners, ["symmetry", "wall", "wall", "outlet", "far", "inlet"], 0.03)


@mesh
def bump():
    """Ten percent high, in a channel three chords long: quadrilaterals."""
    n, m = 96, 32
    x = np.linspace(-1, 2, n + 1)
    low = np.where((x > 0) & (x < 1), 0.1 * np.sin(np.pi * np.clip(x, 0, 1)) ** 2, 0.0)
    at = stretched(m, 0.01)
    nodes = [(a, b + t * (1 - b), 0) for t in at for a, b in zip(x, low)]
    number = lambda j, i: j * (n + 1) + i + 1
    quads = [[number(j, i), number(j, i + 1), number(j + 1, i + 1), number(j + 1, i)] for j in range(m) for i in range(n)]
    sides = {
        "wall": [[number(0, i), number(0, i + 1)] for i in range(n)],
        "top": [[number(m, i), number(m, i + 1)] for i in range(n)],
        "inlet": [[number(j, 0), number(j + 1, 0)] for j in range(m)],
        "outlet": [[number(j, n), number(j + 1, n)] for j in range(m)],
    }
    discrete(nodes, (2, 3, quads), (1, 1, sides))


@mesh
def cylinder():
    """An O-mesh: 128 x 48."""
    angle = np.linspace(0, 2 * np.pi, 128, endpoint=False)
    circle = np.stack([np.cos(angle), np.sin(angle)], 1)
    write_o_mesh(0.5 * circle, 20 * circle, stretched(48, 0.02 / 20))


def body_in_box(body, low, high, near, far, distance, markers):
    """Tetrahedra between an OpenCASCADE body and a box; `markers(low, high)` names a face by its bounding box."""
    occ = gmsh.model.occ
    box = occ.addBox(*low, *(np.array(high) - np.array(low)))
    fluid, _ = occ.cut([(3, box)], [(3, body)])
    occ.synchronize()
    groups = {}
    for _, tag in gmsh.model.getEntities(2):
        b = gmsh.model.getBoundingBox(2, tag)
        groups.setdefault(markers(np.array(b[:3]), np.array(b[3:])), []).append(tag)
    for name, tags in groups.items():
        mark(2, name, tags)
    mark(3, "fluid", [tag for _, tag in fluid])
    walls = [tag for name, tags in groups.items() if name in ("wall", "base") for tag in tags]
    size_near(walls, 2, near, far, distance)


def sides_of(low, high, wall="wall"):
    """Names a box's faces: far, and symmetry at y = 0; what is inside is a wall."""

    def name(a, b):
        for d in range(3):
            for end in (low[d], high[d]):
                if abs(a[d] - end) < 1e-4 and abs(b[d] - end) < 1e-4:
                    return "symmetry" if d == 1 and end == 0 else "far"
        return wall

    return name


@mesh
def sphere():
    """Half of a sphere of diameter 1."""
    low, high = (-2, 0, -2.5), (3, 2.5, 2.5)
    body_in_box(gmsh.model.occ.addSphere(0, 0, 0, 0.5), low, high, 0.05, 0.35, 2.0, sides_of(low, high))


@mesh
def blunt_quads():
    """A circle of radius 1 and what flows around its front half, of quadrilaterals along the bow shock: 80 x 50."""
    angle = np.linspace(0.5, 1.5, 81) * np.pi
    wall = np.stack([np.cos(angle), np.sin(angle)], 1)
    outer = wall * np.stack([np.full(81, 2.5), np.full(81, 4.0)], 1)
    at = np.linspace(0, 1, 51)
    nodes = np.concatenate([wall + t * (outer - wall) for t in at])
    number = lambda j, i: 81 * j + i + 1
    quads = [[number(j, i), number(j, i + 1), number(j + 1, i + 1), number(j + 1, i)] for j in range(50) for i in range(80)]
    edges = {"wall": [[number(0, i), number(0, i + 1)] for i in range(80)], "far": [[number(50, i), number(50, i + 1)] for i in range(80)]}
    edges["outlet"] = [[number(j, i), number(j + 1, i)] for j in range(50) for i in (0, 80)]
    discrete(np.column_stack([nodes, np.zeros(len(nodes))]), (2, 3, quads), (1, 1, edges))


@mesh
def sphere_hexes():
    """The front of a sphere of radius 1, 55 degrees to each side, of hexahedra along the bow shock: 24 x 24 x 32."""
    n, layers = 25, 33
    tangent = np.tan(np.radians(np.linspace(-55, 55, n)))
    a, b = np.meshgrid(tangent, tangent, indexing="ij")
    ray = np.stack([-np.ones_like(a), a, b], -1)
    ray /= np.linalg.norm(ray, axis=-1)[..., None]
    # Further out where the shock is.
    reach = 0.8 + 1.2 * (1 + ray[..., 0])
    nodes = np.concatenate([(ray * (1 + t * reach)[..., None]).reshape(-1, 3) for t in np.linspace(0, 1, layers)])
    number = lambda k, i, j: k * n * n + i * n + j + 1
    square = lambda k, i, j: [number(k, i, j), number(k, i + 1, j), number(k, i + 1, j + 1), number(k, i, j + 1)]
    cells = range(n - 1)
    hexes = [square(k, i, j)[::-1] + square(k + 1, i, j)[::-1] for k in range(layers - 1) for i in cells for j in cells]
    sides = {"wall": [square(0, i, j) for i in cells for j in cells], "far": [square(layers - 1, i, j) for i in cells for j in cells]}
    strip = lambda k, p, q: [number(k, *p), number(k, *q), number(k + 1, *q), number(k + 1, *p)]
    last = n - 1
    sides["outlet"] = [
        strip(k, p, q)
        for k in range(layers - 1)
        for i in cells
        for p, q in [((i, 0), (i + 1, 0)), ((i, last), (i + 1, last)), ((0, i), (0, i + 1)), ((last, i), (last, i + 1))]
    ]
    discrete(nodes, (3, 5, hexes), (2, 3, sides))


@mesh
def ogive():
    """A tangent ogive of three calibers on a cylinder of two, with a flat base."""
    occ = gmsh.model.occ
    rho = 0.25 + 3**2
    x = np.linspace(0, 3, 25)
    r = np.sqrt(rho**2 - (3 - x) ** 2) + 0.5 - rho
    points = [occ.addPoint(a, 0, b) for a, b in zip(x, np.maximum(r, 0))]
    end, axis = occ.addPoint(5, 0, 0.5), occ.addPoint(5, 0, 0)
    curves = [occ.addBSpline(points), occ.addLine(points[-1], end), occ.addLine(end, axis), occ.addLine(axis, points[0])]
    face = occ.addPlaneSurface([occ.addCurveLoop(curves)])
    made = occ.revolve([(2, face)], 0, 0, 0, 1, 0, 0, 2 * np.pi)
    body = [tag for dim, tag in made if dim == 3][0]
    low, high = (-4, 0, -6), (13, 6, 6)
    inner = sides_of(low, high)

    def name(a, b):
        found = inner(a, b)
        return "base" if found == "wall" and abs(a[0] - 5) < 1e-3 and abs(b[0] - 5) < 1e-3 else found

    body_in_box(body, low, high, 0.09, 1.2, 6.0, name)


@mesh
def delta_wing():
    """A sharp delta wing of 65 degrees sweep: a flat wedge 2 % thick."""
    occ = gmsh.model.occ
    span = np.tan(np.radians(25))
    apex, tip, root = occ.addPoint(0, 0, 0), occ.addPoint(1, span, 0), occ.addPoint(1, 0, 0)
    top, bottom = occ.addPoint(0.8, 0, 0.02), occ.addPoint(0.8, 0, -0.02)

    def triangle(a, b, c):
        return occ.addPlaneSurface([occ.addCurveLoop([line(a, b), line(b, c), line(c, a)])])

    lines = {}

    def line(a, b):
        if (b, a) in lines:
            return -lines[b, a]
        return lines.setdefault((a, b), occ.addLine(a, b))

    lid = [triangle(apex, tip, top), triangle(tip, root, top), triangle(apex, bottom, tip), triangle(tip, bottom, root)]
    plane = occ.addPlaneSurface([occ.addCurveLoop([line(apex, top), line(top, root), line(root, bottom), line(bottom, apex)])])
    body = occ.addVolume([occ.addSurfaceLoop(lid + [plane])])
    low, high = (-3, 0, -4), (6, 4, 4)
    body_in_box(body, low, high, 0.03, 0.8, 4.0, sides_of(low, high))


def random_tetrahedra(nodes):
    """The Delaunay tetrahedra of points in the box (0, 2) x (0, 1) x (0, 1), slivers and all but the flattest, and its sides."""
    from scipy.spatial import Delaunay

    tets = Delaunay(nodes).simplices
    a, b, c, d = (nodes[tets[:, k]] for k in range(4))
    volume = np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a)
    tets, volume = tets[np.abs(volume) > 1e-9], volume[np.abs(volume) > 1e-9]
    tets[volume < 0] = tets[volume < 0][:, [1, 0, 2, 3]]
    faces = np.concatenate([tets[:, [1, 2, 3]], tets[:, [0, 3, 2]], tets[:, [0, 1, 3]], tets[:, [0, 2, 1]]])
    _, index, count = np.unique(np.sort(faces, 1), axis=0, return_index=True, return_counts=True)
    outside = faces[index[count == 1]]
    sides = {"wall": [], "far": []}
    for face in outside:
        low = np.all(np.abs(nodes[face][:, 2]) < 1e-12)
        sides["wall" if low else "far"].append(face + 1)
    discrete(nodes, (3, 4, tets + 1), (2, 2, sides))


def box_points(n, rng, inside):
    """Points on the surface of the box in a grid of spacing 1/n, and `inside`."""
    grid = np.stack(np.meshgrid(np.linspace(0, 2, 2 * n + 1), np.linspace(0, 1, n + 1), np.linspace(0, 1, n + 1), indexing="ij"), -1).reshape(-1, 3)
    on = np.any((grid == 0) | (grid == [2, 1, 1]), axis=1)
    return np.concatenate([grid[on], inside])


@mesh
def slivers():
    """Points at random over a wall."""
    rng = np.random.default_rng(5)
    inside = rng.uniform([0.02, 0.02, 0.02], [1.98, 0.98, 0.98], (6000, 3))
    random_tetrahedra(box_points(14, rng, inside))


@mesh
def hubs():
    """Nodes alone in the middle of spheres of 150 and more others."""
    rng = np.random.default_rng(7)
    grid = np.stack(np.meshgrid(*[np.arange(0.05, e, 0.07) for e in (2, 1, 1)], indexing="ij"), -1).reshape(-1, 3)
    grid += rng.uniform(-0.01, 0.01, grid.shape)
    centers = np.array([[0.5, 0.5, 0.5], [1.0, 0.4, 0.4], [1.5, 0.5, 0.6]])
    for center in centers:
        grid = grid[np.linalg.norm(grid - center, axis=1) > 0.24]
    shells = []
    for center in centers:
        k = np.arange(170) + 0.5
        polar, around = np.arccos(1 - 2 * k / 170), np.pi * (1 + 5**0.5) * k
        shell = np.stack([np.cos(around) * np.sin(polar), np.sin(around) * np.sin(polar), np.cos(polar)], 1)
        shells += [center[None], center + 0.2 * shell]
    inside = np.concatenate([grid, *shells])
    inside = inside[np.all((inside > 0.03) & (inside < [1.97, 0.97, 0.97]), axis=1)]
    random_tetrahedra(box_points(14, rng, inside))


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or MADE:
        gmsh.initialize()
        gmsh.option.setNumber("General.Verbosity", 2)
        gmsh.option.setNumber("Mesh.MshFileVersion", 2.2)
        gmsh.model.add(name)
        MADE[name]()
        dim = gmsh.model.getDimension()
        if len(gmsh.model.mesh.getElementTypes(dim)) == 0:
            gmsh.model.mesh.generate(dim)
        path = folder / f"{name}.msh"
        gmsh.write(str(path))
        nodes = len(gmsh.model.mesh.getNodes()[0])
        gmsh.finalize()
        print(f"{path}: {nodes} nodes", flush=True)


if __name__ == "__main__":
    main()
