#!/usr/bin/env python3
"""Meshes of the survey, made with Gmsh (PyPI: gmsh, numpy).

    python3 meshes.py FOLDER [NAME...]

Geometries, layers, growth and elements are others than those of the robustness suite, on purpose.
"""

import sys
import time
from pathlib import Path

import gmsh
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from building import MADE, mark, mesh, polygon  # noqa: E402

# Gmsh 2.2 in bytes where that is smaller than 4.1 as text.
BINARY = set(
    "venturi cubed corner spheroid spheroidv pipebend bluntq bluntv ellipse ramp bend2 nibump nozzle ktq extrq n23012q flapv".split()
)


def sizes(ramps, boxes=()):
    """Background: the least of ramps (dim, entities, near, far, distance[, from]) and boxes (size, far, low, high)."""
    field, all_ = gmsh.model.mesh.field, []
    for dim, tags, near, far, distance, *start in ramps:
        away = field.add("Distance")
        field.setNumbers(away, {0: "PointsList", 1: "CurvesList", 2: "SurfacesList"}[dim], tags)
        field.setNumber(away, "Sampling", 200 if dim == 1 else 40)
        ramp = field.add("Threshold")
        for key, value in [
            ("InField", away),
            ("SizeMin", near),
            ("SizeMax", far),
            ("DistMin", start[0] if start else 0.0),
            ("DistMax", distance),
        ]:
            field.setNumber(ramp, key, value)
        all_.append(ramp)
    for size, far, low, high in boxes:
        box = field.add("Box")
        for key, value in [
            ("VIn", size),
            ("VOut", far),
            ("XMin", low[0]),
            ("XMax", high[0]),
            ("YMin", low[1]),
            ("YMax", high[1]),
            ("ZMin", low[2] if len(low) > 2 else -1),
            ("ZMax", high[2] if len(high) > 2 else 1),
            ("Thickness", 0.5 * (high[0] - low[0])),
        ]:
            field.setNumber(box, key, value)
        all_.append(box)
    least = field.add("Min")
    field.setNumbers(least, "FieldsList", all_)
    field.setAsBackgroundMesh(least)
    for key in ["MeshSizeExtendFromBoundary", "MeshSizeFromPoints", "MeshSizeFromCurvature"]:
        gmsh.option.setNumber("Mesh." + key, 0)


def layer(curves, fans, size, ratio, thickness, quads, ends=(), fan_cells=None):
    field = gmsh.model.mesh.field
    if fan_cells:
        gmsh.option.setNumber("Mesh.BoundaryLayerFanElements", fan_cells)
    f = field.add("BoundaryLayer")
    field.setNumbers(f, "CurvesList", curves)
    if fans:
        field.setNumbers(f, "FanPointsList", list(fans))
    if ends:
        field.setNumbers(f, "PointsList", list(ends))
    for key, value in [("Size", size), ("Ratio", ratio), ("Thickness", thickness), ("Quads", int(quads))]:
        field.setNumber(f, key, value)
    field.setAsBoundaryLayer(f)


def cross2(a, b):
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


# ---- sections -------------------------------------------------------------------------------------------------------------------------


def half_thickness(x, t, closed=True):
    return 5 * t * (0.2969 * np.sqrt(x) - 0.126 * x - 0.3516 * x**2 + 0.2843 * x**3 - (0.1036 if closed else 0.1015) * x**4)


def camber4(m, p):
    def of(x):
        y = np.where(x < p, m / p**2 * (2 * p * x - x**2), m / (1 - p) ** 2 * (1 - 2 * p + 2 * p * x - x**2))
        s = np.where(x < p, 2 * m / p**2 * (p - x), 2 * m / (1 - p) ** 2 * (p - x))
        return y, s

    return of if m else (lambda x: (0 * x, 0 * x))


def camber230(x):
    r, k = 0.2025, 15.957
    y = np.where(x < r, k / 6 * (x**3 - 3 * r * x**2 + r**2 * (3 - r) * x), k * r**3 / 6 * (1 - x))
    s = np.where(x < r, k / 6 * (3 * x**2 - 6 * r * x + r**2 * (3 - r)), -k * r**3 / 6)
    return y, s


def camber_a1(cl):
    def of(x):
        z = np.clip(x, 1e-9, 1 - 1e-9)
        y = -cl / (4 * np.pi) * ((1 - z) * np.log(1 - z) + z * np.log(z))
        s = np.clip(cl / (4 * np.pi) * (np.log(1 - z) - np.log(z)), -0.35, 0.35)
        return y, s

    return of


def section(camber, t, closed=True, points=61, gap=None):
    """Upper side from trailing to leading edge, lower side from leading to trailing edge."""
    x = 0.5 * (1 - np.cos(np.linspace(0, np.pi, points)))
    h = half_thickness(x, t, closed)
    if gap is not None:
        h = half_thickness(x, t, True) + 0.5 * gap * x
    y, s = camber(x)
    c = 1 / np.sqrt(1 + s**2)
    n = np.stack([-s * c, c], 1)
    mid = np.stack([x, y], 1)
    up, low = mid + h[:, None] * n, mid - h[:, None] * n
    if closed and gap is None:
        up[-1] = low[-1] = mid[-1]
    return up[::-1], low


def placed(sides, chord=1.0, degrees=0.0, at=(0, 0)):
    a = np.radians(degrees)
    turn = np.array([[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]])  # nose up for positive degrees
    return tuple(chord * s @ turn.T + np.array(at) for s in sides)


def section_curves(sides):
    """Curves in order, trailing-edge points, the leading-edge point (built-in kernel)."""
    geo = gmsh.model.geo
    up, low = sides
    pu = [geo.addPoint(*p, 0) for p in up]
    blunt = np.linalg.norm(up[0] - low[-1]) > 1e-9
    pl = [pu[-1]] + [geo.addPoint(*p, 0) for p in low[1:-1]] + [geo.addPoint(*low[-1], 0) if blunt else pu[0]]
    curves = [geo.addSpline(pu), geo.addSpline(pl)]
    if blunt:
        curves.append(geo.addLine(pl[-1], pu[0]))
    return curves, ([pu[0], pl[-1]] if blunt else [pu[0]]), pu[-1]


def far_circle(radius, center=(0.5, 0)):
    geo = gmsh.model.geo
    c = geo.addPoint(*center, 0)
    p = [geo.addPoint(center[0] + radius * a, center[1] + radius * b, 0) for a, b in [(1, 0), (0, 1), (-1, 0), (0, -1)]]
    return [geo.addCircleArc(p[k], c, p[(k + 1) % 4]) for k in range(4)]


def round_face():
    """The face of a round tube of radius 1, marked `wall` and `fluid`; its curves."""
    curves = far_circle(1, (0, 0))
    face = gmsh.model.geo.addPlaneSurface([gmsh.model.geo.addCurveLoop(curves)])
    gmsh.model.geo.synchronize()
    mark(1, "wall", curves)
    mark(2, "fluid", [face])
    return curves


def in_far_field(bodies, radius, center=(0.5, 0)):
    geo = gmsh.model.geo
    far = far_circle(radius, center)
    surface = geo.addPlaneSurface([geo.addCurveLoop(far)] + [geo.addCurveLoop(b) for b in bodies])
    geo.synchronize()
    mark(1, "far", far)
    mark(2, "fluid", [surface])
    return surface


# ---- meshes by their nodes ------------------------------------------------------------------------------------------------------------


def discrete(nodes, dim, cells, markers):
    """cells: {Gmsh type: (n, k) from 0}; markers: {name: {type: (n, k)}}."""
    nodes = np.asarray(nodes, float)
    if nodes.shape[1] == 2:
        nodes = np.column_stack([nodes, np.zeros(len(nodes))])
    fluid = gmsh.model.addDiscreteEntity(dim)
    gmsh.model.mesh.addNodes(dim, fluid, np.arange(1, len(nodes) + 1), nodes.ravel())
    for kind, elements in cells.items():
        if len(elements):
            gmsh.model.mesh.addElementsByType(fluid, kind, [], (np.asarray(elements) + 1).ravel())
    mark(dim, "fluid", [fluid])
    for name, groups in markers.items():
        tag = gmsh.model.addDiscreteEntity(dim - 1)
        for kind, elements in groups.items():
            if len(elements):
                gmsh.model.mesh.addElementsByType(tag, kind, [], (np.asarray(elements) + 1).ravel())
        mark(dim - 1, name, [tag])


def block(points, sides):
    """Quadrilaterals of a grid of points (j, i, 2); sides: names (or a function of the edge's middle) of low j, high j, low i, high i."""
    m, n = points.shape[:2]
    number = np.arange(m * n).reshape(m, n)
    quads = np.stack([number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1]], -1).reshape(-1, 4)
    edges = [np.stack([r[:-1], r[1:]], 1) for r in (number[0], number[-1], number[:, 0], number[:, -1])]
    nodes, markers = points.reshape(-1, 2), {}
    for side, group in zip(sides, edges):
        for e in group:
            name = side(nodes[e].mean(0)) if callable(side) else side
            markers.setdefault(name, []).append(e)
    a, b, c = nodes[quads[0, 0]], nodes[quads[0, 1]], nodes[quads[0, 3]]
    if cross2(b - a, c - a) < 0:
        quads = quads[:, ::-1]
    discrete(nodes, 2, {3: quads}, {k: {1: np.array(v)} for k, v in markers.items()})


def o_block(wall, outer_of, at):
    """An O-mesh on a closed wall (n, 2): outer_of(t) gives the row at t."""
    rows = np.stack([outer_of(t) for t in at])
    m, n = rows.shape[:2]
    number = np.arange(m * n).reshape(m, n)
    nxt = np.roll(number, -1, 1)
    quads = np.stack([number[:-1], nxt[:-1], nxt[1:], number[1:]], -1).reshape(-1, 4)
    nodes = rows.reshape(-1, 2)
    a, b, c = nodes[quads[0, 0]], nodes[quads[0, 1]], nodes[quads[0, 3]]
    if cross2(b - a, c - a) < 0:
        quads = quads[:, ::-1]
    edge = lambda j: np.stack([number[j], nxt[j]], 1)
    discrete(nodes, 2, {3: quads}, {"wall": {1: edge(0)}, "far": {1: edge(-1)}})


def stretched(cells, first):
    low, high = 1.0, 4.0
    for _ in range(200):
        ratio = 0.5 * (low + high)
        low, high = (low, ratio) if first * (ratio**cells - 1) / (ratio - 1) > 1 else (ratio, high)
    steps = np.concatenate([[0], np.cumsum(first * ratio ** np.arange(cells))])
    return steps / steps[-1]


def both_ends(cells, first):
    """0 to 1, fine at both ends."""
    half = stretched(cells // 2, 2 * first) / 2
    return np.concatenate([half, 1 - half[-2::-1]])


def hexes(P, name):
    """Hexahedra of a grid of points (i, j, k, 3); name(axis, end) of its six sides."""
    shape = P.shape[:3]
    num = np.arange(np.prod(shape)).reshape(shape)
    a = num[:-1, :-1, :-1], num[1:, :-1, :-1], num[1:, 1:, :-1], num[:-1, 1:, :-1]
    b = num[:-1, :-1, 1:], num[1:, :-1, 1:], num[1:, 1:, 1:], num[:-1, 1:, 1:]
    cells = np.stack(a + b, -1).reshape(-1, 8)
    markers = {}
    for axis in range(3):
        for end in (0, -1):
            f = np.take(num, end, axis)
            q = np.stack([f[:-1, :-1], f[1:, :-1], f[1:, 1:], f[:-1, 1:]], -1).reshape(-1, 4)
            markers.setdefault(name(axis, end), []).append(q)
    nodes = P.reshape(-1, 3)
    p = nodes[cells[0]]
    if np.dot(np.cross(p[1] - p[0], p[3] - p[0]), p[4] - p[0]) < 0:
        cells = np.concatenate([cells[:, 4:], cells[:, :4]], 1)
    discrete(nodes, 3, {5: cells}, {k: {3: np.concatenate(v)} for k, v in markers.items()})


def planar_arrays():
    """Nodes, triangles, quadrilaterals and edges by marker of the planar mesh in Gmsh; the model is cleared."""
    tags, xyz, _ = gmsh.model.mesh.getNodes()
    of = {}
    xyz = xyz.reshape(-1, 3)
    faces = {}
    for kind, width in ((2, 3), (3, 4)):
        faces[kind] = gmsh.model.mesh.getElementsByType(kind)[1].reshape(-1, width)
    edges = {}
    for dim, group in gmsh.model.getPhysicalGroups(1):
        name = gmsh.model.getPhysicalName(dim, group)
        for entity in gmsh.model.getEntitiesForPhysicalGroup(dim, group):
            edges.setdefault(name, []).append(gmsh.model.mesh.getElementsByType(1, entity)[1].reshape(-1, 2))
    used = np.unique(np.concatenate([f.ravel() for f in faces.values()]))
    place = np.zeros(int(tags.max()) + 1, int)
    place[used] = np.arange(len(used))
    where = np.zeros((int(tags.max()) + 1, 3))
    where[tags] = xyz
    faces = {k: place[f] for k, f in faces.items()}
    nodes = where[used][:, :2]
    for k, f in faces.items():
        if len(f):
            a, b, c = nodes[f[:, 0]], nodes[f[:, 1]], nodes[f[:, 2]]
            turned = cross2(b - a, c - a) < 0
            f[turned] = f[turned][:, ::-1]
    edges = {k: place[np.concatenate(e)] for k, e in edges.items()}
    gmsh.model.remove()
    gmsh.model.add("extruded")
    return nodes, faces, edges


def extruded(layers, ends, place):
    """The planar mesh in Gmsh as `layers` rows of prisms and hexahedra: place(k, nodes) are the points of row k."""
    nodes, faces, edges = planar_arrays()
    n = len(nodes)
    points = np.concatenate([place(k, nodes) for k in range(layers + 1)])
    up = lambda e: np.concatenate([np.concatenate([e + k * n, e + (k + 1) * n], 1) for k in range(layers)])
    cells = {6: up(faces[2]) if len(faces[2]) else [], 5: up(faces[3]) if len(faces[3]) else []}
    for kind in cells:
        if len(cells[kind]):
            p = points[cells[kind][0]]
            w = p.shape[0] // 2
            if np.dot(np.cross(p[1] - p[0], p[2] - p[0]), p[w] - p[0]) < 0:
                cells[kind] = np.concatenate([cells[kind][:, w:], cells[kind][:, :w]], 1)
    markers = {}
    for name, e in edges.items():
        markers[name] = {3: np.concatenate([np.concatenate([e + k * n, e[:, ::-1] + (k + 1) * n], 1) for k in range(layers)])}
    for name, k in zip(ends, (0, layers)):
        group = markers.setdefault(name, {})
        for kind in (2, 3):
            if len(faces[kind]):
                group[kind] = np.concatenate([group[kind], faces[kind] + k * n]) if kind in group else faces[kind] + k * n
    discrete(points, 3, cells, markers)


# ---- planar: airfoils -----------------------------------------------------------------------------------------------------------------


def two_elements():
    main = section_curves(section(camber4(0.04, 0.4), 0.12))
    flap = section_curves(placed(section(camber4(0.02, 0.4), 0.14), 0.32, 18, (0.985, -0.045)))
    return main, flap


@mesh
def flap():
    """Two elements, triangles, far field at 12 chords, fast growth."""
    (a, te, le), (b, te2, le2) = two_elements()
    in_far_field([a, b], 12)
    mark(1, "main", a)
    mark(1, "flap", b)
    sizes([(1, a, 0.012, 2, 12), (1, b, 0.009, 2, 12), (0, te + [le], 0.004, 2, 12), (0, te2 + [le2], 0.003, 2, 12)])


@mesh
def flapv():
    """The same with layers of quadrilaterals from 1e-5 in the slot and about."""
    (a, te, le), (b, te2, le2) = two_elements()
    in_far_field([a, b], 40)
    mark(1, "main", a)
    mark(1, "flap", b)
    sizes(
        [(1, a, 0.016, 6, 40), (1, b, 0.01, 6, 40), (0, te + [le], 0.004, 6, 40), (0, te2 + [le2], 0.003, 6, 40)],
        [(0.05, 6, (-0.2, -0.5), (3, 0.4))],
    )
    layer(a + b, te + te2, 1e-5, 1.3, 0.009, True, fan_cells=7)


@mesh
def biplane():
    """Two sections, staggered, coarse triangles."""
    a, te, le = section_curves(placed(section(camber4(0.02, 0.4), 0.12, points=41), 1, 2, (0, 0.35)))
    b, te2, le2 = section_curves(placed(section(camber4(0, 0.4), 0.12, False, points=41), 1, -1, (0.4, -0.35)))
    in_far_field([a, b], 15)
    mark(1, "upper", a)
    mark(1, "lower", b)
    sizes([(1, a + b, 0.03, 2.5, 15), (0, te + te2 + [le, le2], 0.006, 2.5, 15)])


@mesh
def n4412t():
    """NACA 4412, layers from 1e-5 cut into triangles."""
    a, te, le = section_curves(section(camber4(0.04, 0.4), 0.12))
    in_far_field([a], 30)
    mark(1, "wall", a)
    sizes([(1, a, 0.015, 5, 30), (0, te + [le], 0.003, 5, 30)], [(0.06, 5, (1, -0.2), (3, 0.3))])
    layer(a, te, 1e-5, 1.25, 0.04, False, fan_cells=7)


@mesh
def n2412l():
    """NACA 2412 with a blunt edge, quadrilaterals in a layer from 1e-3, triangles beyond, small far field."""
    a, te, le = section_curves(section(camber4(0.02, 0.4), 0.12, False))
    in_far_field([a], 10)
    mark(1, "wall", a)
    sizes([(1, a, 0.02, 1.5, 10), (0, te + [le], 0.004, 1.5, 10)], [(0.05, 1.5, (0.9, -0.2), (3.5, 0.3))])
    layer(a, te, 1e-3, 1.15, 0.08, True)


@mesh
def n65q():
    """65-415-like with a thick blunt edge (1 %), quadrilaterals from 1e-4, growing by 1.4."""
    a, te, le = section_curves(section(camber_a1(0.4), 0.15, gap=0.01, points=81))
    in_far_field([a], 25)
    mark(1, "wall", a)
    sizes([(1, a, 0.02, 4, 25), (0, te, 0.003, 4, 25), (0, [le], 0.004, 4, 25)], [(0.05, 4, (1, -0.2), (2.5, 0.2))])
    layer(a, te, 1e-4, 1.4, 0.05, True)


@mesh
def n23012q():
    """NACA 23012, sharp, quadrilaterals from 4e-6 growing by 1.15."""
    a, te, le = section_curves(section(camber230, 0.12, points=81))
    in_far_field([a], 50)
    mark(1, "wall", a)
    sizes([(1, a, 0.012, 8, 50), (0, te + [le], 0.002, 8, 50)], [(0.04, 8, (1, -0.2), (3, 0.3))])
    layer(a, te, 4e-6, 1.15, 0.035, True, fan_cells=9)


@mesh
def n0015all():
    """NACA 0015, quadrilaterals everywhere by recombination, no layer, far field square at 8."""
    geo = gmsh.model.geo
    a, te, le = section_curves(section(camber4(0, 0.4), 0.15))
    p = [geo.addPoint(x, y, 0) for x, y in [(-8, -8), (9, -8), (9, 8), (-8, 8)]]
    far = [geo.addLine(p[k], p[(k + 1) % 4]) for k in range(4)]
    s = geo.addPlaneSurface([geo.addCurveLoop(far), geo.addCurveLoop(a)])
    geo.synchronize()
    mark(1, "wall", a)
    mark(1, "far", far)
    mark(2, "fluid", [s])
    sizes([(1, a, 0.011, 0.8, 8), (0, te + [le], 0.003, 0.8, 8)])
    gmsh.model.mesh.setRecombine(2, s)
    gmsh.option.setNumber("Mesh.Algorithm", 8)


@mesh
def tunnel():
    """NACA 2412 at 4 degrees between walls two chords apart, triangles."""
    geo = gmsh.model.geo
    a, te, le = section_curves(placed(section(camber4(0.02, 0.4), 0.12), 1, 4, (0, 0)))
    p = [geo.addPoint(x, y, 0) for x, y in [(-3, -1), (5, -1), (5, 1), (-3, 1)]]
    box = [geo.addLine(p[k], p[(k + 1) % 4]) for k in range(4)]
    s = geo.addPlaneSurface([geo.addCurveLoop(box), geo.addCurveLoop(a)])
    geo.synchronize()
    for name, tags in {"wall": a, "floor": [box[0]], "outlet": [box[1]], "roof": [box[2]], "inlet": [box[3]]}.items():
        mark(1, name, tags)
    mark(2, "fluid", [s])
    sizes([(1, a, 0.016, 0.16, 1.5), (0, te + [le], 0.004, 0.16, 1.5)])


def karman_trefftz(n, at, far):
    """Rows of the O-mesh of an airfoil with a rounded trailing edge, by a conformal map."""
    center, power = complex(-0.09, 0.07), 1.92
    r = 1.012 * abs(1 - center)
    q = np.linspace(0, 2 * np.pi, n, endpoint=False) + np.angle(1 - center)
    q = q - 0.35 * np.sin(q - np.angle(1 - center))

    def row(t):
        radius = r * np.exp(t * np.log(far / r))
        zeta = center + radius * np.exp(1j * q)
        # The quotient's power on the branch that is 1 far away.
        w = np.exp(power * np.log((zeta - 1) / (zeta + 1)))
        z = power * (1 + w) / (1 - w)
        return np.stack([z.real, z.imag], 1) / 3.85 + np.array([0.5, 0])

    return row


@mesh
def ktq():
    """A cambered airfoil with a rounded trailing edge, O-mesh by a conformal map, 150 x 60, cells from 2e-5 to far less at the edge."""
    o_block(None, karman_trefftz(150, None, 120.0), stretched(60, 1.2e-5))


@mesh
def ktt():
    """The same, 130 x 50 from 1e-3, each cell cut along a diagonal by chance."""
    rng = np.random.default_rng(3)
    row = karman_trefftz(130, None, 40.0)
    rows = np.stack([row(t) for t in stretched(50, 6e-4)])
    m, n = rows.shape[:2]
    number = np.arange(m * n).reshape(m, n)
    nxt = np.roll(number, -1, 1)
    q = np.stack([number[:-1], nxt[:-1], nxt[1:], number[1:]], -1).reshape(-1, 4)
    turn = rng.random(len(q)) < 0.5
    q[turn] = np.roll(q[turn], 1, 1)
    tri = np.concatenate([q[:, [0, 1, 2]], q[:, [0, 2, 3]]])
    nodes = rows.reshape(-1, 2)
    a, b, c = nodes[tri[:, 0]], nodes[tri[:, 1]], nodes[tri[:, 2]]
    back = cross2(b - a, c - a) < 0
    tri[back] = tri[back][:, ::-1]
    edge = lambda j: np.stack([number[j], nxt[j]], 1)
    discrete(nodes, 2, {2: tri}, {"wall": {1: edge(0)}, "far": {1: edge(-1)}})


# ---- planar: cascades -----------------------------------------------------------------------------------------------------------------


def periodic(floor, roof, pitch):
    move = [1, 0, 0, 0, 0, 1, 0, pitch, 0, 0, 1, 0, 0, 0, 0, 1]
    gmsh.model.mesh.setPeriodic(1, roof, floor, move)


@mesh
def turbine():
    """A row that turns the flow from 35 to -60 degrees, triangles, periodic along the mean line."""
    geo = gmsh.model.geo
    s = 0.5 * (1 - np.cos(np.linspace(0, np.pi, 71)))
    angle = np.radians(35 - 95 * s**0.9)
    x = np.concatenate([[0], np.cumsum(0.5 * (np.cos(angle[1:]) + np.cos(angle[:-1])) * np.diff(s))])
    y = np.concatenate([[0], np.cumsum(0.5 * (np.sin(angle[1:]) + np.sin(angle[:-1])) * np.diff(s))])
    scale = 1 / x[-1]
    mid = np.stack([x, y], 1) * scale
    h = (half_thickness(s, 0.15) + 0.006 * s) * scale
    n = np.stack([-np.sin(angle), np.cos(angle)], 1)
    a, te, le = section_curves(((mid + h[:, None] * n)[::-1], mid - h[:, None] * n))
    pitch = 0.85
    before, after = mid[0] - 0.9 * np.array([1, np.tan(np.radians(35))]), mid[-1] + 0.9 * np.array([1, -np.tan(np.radians(60))])
    line = np.concatenate([[before], mid[::7], [after]])
    sides, ends = [], []
    for shift in (-0.5, 0.5):
        p = [geo.addPoint(q[0], q[1] + shift * pitch, 0) for q in line]
        sides.append([geo.addLine(p[0], p[1]), geo.addSpline(p[1:-1]), geo.addLine(p[-2], p[-1])])
        ends.append((p[0], p[-1]))
    inlet, outlet = geo.addLine(ends[0][0], ends[1][0]), geo.addLine(ends[0][1], ends[1][1])
    loop = geo.addCurveLoop(sides[0] + [outlet] + [-c for c in sides[1][::-1]] + [-inlet])
    surface = geo.addPlaneSurface([loop, geo.addCurveLoop(a)])
    geo.synchronize()
    periodic(sides[0], sides[1], pitch)
    for name, tags in {"blade": a, "inlet": [inlet], "outlet": [outlet], "floor": sides[0], "roof": sides[1]}.items():
        mark(1, name, tags)
    mark(2, "fluid", [surface])
    sizes([(1, a, 0.015, 0.05, 0.4), (0, te, 0.003, 0.05, 0.4), (0, [le], 0.006, 0.05, 0.4)])


@mesh
def compressor():
    """65-like blades at 35 degrees of stagger, layers of quadrilaterals from 2e-5, straight periodic sides."""
    geo = gmsh.model.geo
    a, te, le = section_curves(placed(section(camber_a1(1.0), 0.10, gap=0.008, points=71), 1, -35, (-0.41, -0.287)))
    p = [geo.addPoint(x, y, 0) for x, y in [(-1.6, -0.5), (2.2, -0.5), (2.2, 0.5), (-1.6, 0.5)]]
    floor, outlet, roof, inlet = geo.addLine(p[0], p[1]), geo.addLine(p[1], p[2]), geo.addLine(p[3], p[2]), geo.addLine(p[3], p[0])
    surface = geo.addPlaneSurface([geo.addCurveLoop([floor, outlet, -roof, inlet]), geo.addCurveLoop(a)])
    geo.synchronize()
    periodic([floor], [roof], 1.0)
    for name, tags in {"blade": a, "inlet": [inlet], "outlet": [outlet], "floor": [floor], "roof": [roof]}.items():
        mark(1, name, tags)
    mark(2, "fluid", [surface])
    sizes([(1, a, 0.015, 0.06, 0.8), (0, te, 0.0025, 0.06, 0.5), (0, [le], 0.003, 0.06, 0.5)])
    layer(a, te, 2e-5, 1.3, 0.03, True)


# ---- planar: channels -----------------------------------------------------------------------------------------------------------------


def nozzle_height(x):
    """1 at 0, 0.6 at 1.2, 0.85 at 3."""
    a = 0.6 + 0.4 * 0.5 * (1 + np.cos(np.pi * np.clip(x / 1.2, 0, 1)))
    b = 0.6 + 0.25 * 0.5 * (1 - np.cos(np.pi * np.clip((x - 1.2) / 1.8, 0, 1)))
    return np.where(x < 1.2, a, b)


@mesh
def nozzle():
    """Half of a converging-diverging nozzle of quadrilaterals, 128 x 32, closer towards the wall."""
    x, at = np.linspace(-0.5, 3.4, 129), 1 - stretched(32, 0.008)[::-1]
    h = nozzle_height(x)
    block(np.stack([np.stack([x, t * h], 1) for t in at]), ["symmetry", "wall", "inlet", "outlet"])


@mesh
def nozzlet():
    """The whole nozzle with a bent axis, coarse triangles."""
    geo = gmsh.model.geo
    x = np.linspace(-0.5, 3.4, 60)
    bend, h = 0.25 * np.tanh(x - 1.2), nozzle_height(x) / 2
    low, up = ([geo.addPoint(a, b, 0) for a, b in zip(x, y)] for y in (bend - h, bend + h))
    c = [geo.addSpline(low), geo.addLine(low[-1], up[-1]), geo.addSpline(up), geo.addLine(up[0], low[0])]
    s = geo.addPlaneSurface([geo.addCurveLoop([c[0], c[1], -c[2], c[3]])])
    geo.synchronize()
    mark(1, "wall", [c[0], c[2]])
    mark(1, "outlet", [c[1]])
    mark(1, "inlet", [c[3]])
    mark(2, "fluid", [s])
    sizes([(1, [c[0], c[2]], 0.022, 0.04, 0.3)])


@mesh
def intake():
    """Two ramps of 8 and 16 degrees, a cowl, a duct: triangles."""
    t = np.tan(np.radians([8, 16]))
    y2 = t[0] + 1.45 * t[1]
    corners = [
        (-0.3, 0),
        (0, 0),
        (1, t[0]),
        (2.45, y2),
        (2.9, y2 + 0.045),
        (4.5, y2 + 0.045),
        (4.5, 1.45),
        (2.9, 1.45),
        (2.4, 1.40),
        (4.5, 1.75),
        (4.5, 2.9),
        (-0.3, 2.9),
    ]
    names = ["symmetry", "ramp", "ramp", "ramp", "ramp", "duct_exit", "cowl", "cowl", "cowl", "outlet", "far", "inlet"]
    p, sides, _ = polygon(corners, names)
    sizes([(1, sides[1:5] + sides[6:9], 0.025, 0.07, 0.8), (0, [p[8]], 0.006, 0.07, 0.5), (0, [p[1], p[2]], 0.012, 0.07, 0.5)])


def arc_bump(height, x):
    r = (0.25 + height**2) / (2 * height)
    return np.where((x > 0) & (x < 1), np.sqrt(np.maximum(r**2 - (x - 0.5) ** 2, 0)) - r + height, 0)


@mesh
def nibump():
    """Ni's channel with an arc of ten percent, sharp corners: quadrilaterals 96 x 28, finer at the corners."""
    half = stretched(24, 0.02)
    mid = both_ends(48, 0.008)
    x = np.concatenate([-half[::-1], mid[1:-1], 1 + half])
    y, at = arc_bump(0.10, x), stretched(28, 0.012)
    block(np.stack([np.stack([x, y + t * (1 - y)], 1) for t in at]), ["wall", "top", "inlet", "outlet"])


@mesh
def bump4t():
    """An arc of four percent in a channel of triangles that grow to the roof."""
    geo = gmsh.model.geo
    x = np.linspace(0, 1, 31)
    y = arc_bump(0.04, x)
    arc = [geo.addPoint(a, b, 0) for a, b in zip(x, y)]
    p = [geo.addPoint(a, b, 0) for a, b in [(-1, 0), (2, 0), (2, 1), (-1, 1)]]
    c = [
        geo.addLine(p[0], arc[0]),
        geo.addSpline(arc),
        geo.addLine(arc[-1], p[1]),
        geo.addLine(p[1], p[2]),
        geo.addLine(p[2], p[3]),
        geo.addLine(p[3], p[0]),
    ]
    s = geo.addPlaneSurface([geo.addCurveLoop(c)])
    geo.synchronize()
    for name, tags in {"wall": c[:3], "outlet": [c[3]], "top": [c[4]], "inlet": [c[5]]}.items():
        mark(1, name, tags)
    mark(2, "fluid", [s])
    sizes([(1, [c[1]], 0.012, 0.06, 1.0), (0, [arc[0], arc[-1]], 0.005, 0.06, 0.6)])


@mesh
def bfs():
    """A backward-facing step in a channel, triangles that grow downstream."""
    corners = [(-3, 1), (0, 1), (0, 0), (18, 0), (18, 2), (-3, 2)]
    p, sides, _ = polygon(corners, ["wall", "wall", "wall", "outlet", "wall", "inlet"])
    sizes([(0, [p[1]], 0.02, 0.2, 12, 0.3), (1, [sides[0], sides[2], sides[4]], 0.08, 0.18, 0.7)])


@mesh
def groove():
    """A cavity of 2 x 1 in a wall, unstructured quadrilaterals, open above."""
    corners = [(-1.5, 0), (0, 0), (0, -1), (2, -1), (2, 0), (5, 0), (5, 2), (-1.5, 2)]
    p, sides, s = polygon(corners, ["wall", "wall", "wall", "wall", "wall", "outlet", "top", "inlet"])
    sizes([(1, sides[:5], 0.03, 0.12, 1.2), (0, [p[1], p[4]], 0.01, 0.12, 1.0)])
    gmsh.model.mesh.setRecombine(2, s)
    gmsh.option.setNumber("Mesh.Algorithm", 8)


@mesh
def bend2():
    """A channel of width 1 that turns by 90 degrees, quadrilaterals from 1e-4 at both walls: 90 x 56."""
    at = both_ends(56, 1e-4)
    rows = []
    for t in at:
        r = 1 + t
        q = np.linspace(0, np.pi / 2, 41)
        a = np.stack([np.linspace(-3, 0, 20)[:-1], np.full(19, 0.0)], 1)
        turn = np.stack([r * np.sin(q), 2 - r * np.cos(q)], 1)
        a[:, 1] = 2 - r
        down = np.stack([np.full(34, r), 2 + (stretched(34, 0.015) * 6)[1:]], 1)
        rows.append(np.concatenate([a, turn, down]))
    block(np.stack(rows), ["wall", "wall", "inlet", "outlet"])


@mesh
def ramp():
    """A plate and a ramp of 8 degrees, quadrilaterals from 6e-6: 100 x 64; walls begin at x = 0."""
    x = np.concatenate([-0.15 * stretched(14, 0.02)[::-1], 0.003 * 0 + stretched(50, 0.003)[1:], 1 + 0.6 * np.linspace(0, 1, 37)[1:]])
    y = np.maximum(x - 1, 0) * np.tan(np.radians(8))
    at = stretched(64, 1e-5)
    block(
        np.stack([np.stack([x, y + t * (0.6 - y * 0)], 1) for t in at]),
        [lambda c: "wall" if c[0] > 0 else "symmetry", "top", "inlet", "outlet"],
    )


@mesh
def platet():
    """A flat plate of triangles: layers from 1e-5 cut into triangles, 2 long, far field above."""
    geo = gmsh.model.geo
    p = [geo.addPoint(x, y, 0) for x, y in [(-1, 0), (0, 0), (2, 0), (2, 1.5), (-1, 1.5)]]
    c = [geo.addLine(p[k], p[(k + 1) % 5]) for k in range(5)]
    s = geo.addPlaneSurface([geo.addCurveLoop(c)])
    geo.synchronize()
    for name, tags in {"symmetry": [c[0]], "wall": [c[1]], "outlet": [c[2]], "top": [c[3]], "inlet": [c[4]]}.items():
        mark(1, name, tags)
    mark(2, "fluid", [s])
    sizes([(1, [c[1]], 0.04, 0.2, 1.5), (0, [p[1]], 0.002, 0.2, 1.2)])
    layer([c[0], c[1]], [], 1e-5, 1.2, 0.05, False, ends=[p[0], p[2]])


# ---- planar: bodies -------------------------------------------------------------------------------------------------------------------


@mesh
def cylinders():
    """Five cylinders, triangles, layers of quadrilaterals from 5e-3."""
    geo, bodies, curves = gmsh.model.geo, [], []
    for x, y, r in [(0, 0, 0.5), (2.5, 1.3, 0.5), (2.5, -1.3, 0.4), (5, 0, 0.5), (0.5, 3, 0.3)]:
        c = geo.addPoint(x, y, 0)
        q = [geo.addPoint(x + r * a, y + r * b, 0) for a, b in [(1, 0), (0, 1), (-1, 0), (0, -1)]]
        bodies.append([geo.addCircleArc(q[k], c, q[(k + 1) % 4]) for k in range(4)])
        curves += bodies[-1]
    in_far_field(bodies, 30, (2.5, 0.5))
    mark(1, "wall", curves)
    sizes([(1, curves, 0.06, 4, 30)], [(0.2, 4, (1, -2.5), (14, 4))])
    layer(curves, [], 5e-3, 1.2, 0.12, True)


@mesh
def diamond():
    """A diamond of 14 percent, triangles."""
    geo = gmsh.model.geo
    p = [geo.addPoint(x, y, 0) for x, y in [(0, 0), (0.4, -0.06), (1, 0), (0.4, 0.08)]]
    c = [geo.addLine(p[k], p[(k + 1) % 4]) for k in range(4)]
    in_far_field([c], 4)
    mark(1, "wall", c)
    sizes([(1, c, 0.02, 0.25, 3), (0, p, 0.006, 0.25, 3)])


@mesh
def ellipse():
    """An ellipse of 5 to 1, O-mesh of confocal ellipses, 140 x 44, first cell 1e-3."""
    n = 140
    angle = np.linspace(0, 2 * np.pi, n, endpoint=False)
    mu0, c = np.arctanh(0.2), np.sqrt(0.25 - 0.01)
    mu1 = np.arccosh(25 / c)
    at = stretched(44, 1e-3 / (c * np.sinh(mu1)) * 12)
    wall = np.stack([0.5 * np.cos(angle), 0.1 * np.sin(angle)], 1)
    row = lambda t: np.stack([c * np.cosh(mu0 + t * (mu1 - mu0)) * np.cos(angle), c * np.sinh(mu0 + t * (mu1 - mu0)) * np.sin(angle)], 1)
    o_block(wall, row, at)


def blunt_wall(n, radius=0.3, half_angle=20, length=2.0):
    """A blunted wedge's upper side from its nose on, and its normals, by equal arcs."""
    d = np.radians(half_angle)
    arc = radius * (np.pi / 2 - d)
    x1, y1 = radius * (1 - np.sin(d)), radius * np.cos(d)
    total = arc + (length - x1) / np.cos(d)
    s = total * stretched(n - 1, 0.35 / n)
    q = np.minimum(s, arc) / radius
    x, y = radius * (1 - np.cos(q)), radius * np.sin(q)
    rest = np.maximum(s - arc, 0)
    x, y = np.where(s > arc, x1 + rest * np.cos(d), x), np.where(s > arc, y1 + rest * np.sin(d), y)
    nx, ny = -np.cos(np.minimum(q, np.pi / 2 - d)), np.sin(np.minimum(q, np.pi / 2 - d))
    return np.stack([x, y], 1), np.stack([nx, ny], 1), s


def blunt_block(n, at, reach):
    w, nrm, s = blunt_wall(n)
    r = reach[0] + reach[1] * s
    return np.stack([w + (t * r)[:, None] * nrm for t in at])


@mesh
def bluntq():
    """Half of a blunted wedge of 20 degrees, equal quadrilaterals along normals: 90 x 48."""
    p = blunt_block(90, np.linspace(0, 1, 49), (0.35, 0.4))
    block(p, ["wall", "far", "symmetry", "outlet"])


@mesh
def bluntv():
    """The same with cells from 3e-5: 90 x 60."""
    p = blunt_block(90, stretched(60, 3e-5 / 0.6), (0.35, 0.4))
    block(p, ["wall", "far", "symmetry", "outlet"])


@mesh
def bluntt():
    """The same of triangles, coarse and unaligned."""
    geo = gmsh.model.geo
    w, nrm, s = blunt_wall(40)
    out = w + (0.45 + 0.45 * s)[:, None] * nrm
    a, b = ([geo.addPoint(*q, 0) for q in side] for side in (w, out))
    c = [geo.addSpline(a), geo.addLine(a[-1], b[-1]), geo.addSpline(b), geo.addLine(b[0], a[0])]
    f = geo.addPlaneSurface([geo.addCurveLoop([c[0], c[1], -c[2], c[3]])])
    geo.synchronize()
    for name, tag in zip(["wall", "outlet", "far", "symmetry"], c):
        mark(1, name, [tag])
    mark(2, "fluid", [f])
    sizes([(1, [c[0]], 0.014, 0.045, 0.9)])


# ---- in space -------------------------------------------------------------------------------------------------------------------------


def in_box(bodies, low, high, ramps, name, boxes=()):
    """Tetrahedra between OpenCASCADE bodies and a box. name(low, high) of each face; ramps: {marker: (near, far, distance)}."""
    occ = gmsh.model.occ
    low, high = np.array(low, float), np.array(high, float)
    box = occ.addBox(*low, *(high - low))
    fluid, _ = occ.cut([(3, box)], [(3, b) for b in bodies])
    occ.synchronize()
    groups = {}
    for _, tag in gmsh.model.getBoundary(fluid, oriented=False):
        b = gmsh.model.getBoundingBox(2, tag)
        groups.setdefault(name(np.array(b[:3]), np.array(b[3:])), []).append(tag)
    for n, tags in groups.items():
        mark(2, n, tags)
    mark(3, "fluid", [t for _, t in fluid])
    sizes([(2, [t for n, tags in groups.items() if n in names for t in tags], *ramp) for names, ramp in ramps.items()], boxes)
    gmsh.option.setNumber("Mesh.Optimize", 1)
    gmsh.option.setNumber("Mesh.Algorithm3D", 1)
    return groups


def box_sides(low, high, wall="wall", **special):
    """Faces on the box: far; symmetry at y = 0; special: xlow=..., zlow=..."""

    def name(a, b):
        for d in range(3):
            for end, which in ((low[d], "low"), (high[d], "high")):
                if abs(a[d] - end) < 1e-4 and abs(b[d] - end) < 1e-4:
                    return special.get("xyz"[d] + which, "symmetry" if d == 1 and end == 0 else "far")
        return wall(a, b) if callable(wall) else wall

    return name


def occ_section(sides, chord, at, twist=0.0):
    """A closed wire of a section in a plane of constant y."""
    occ = gmsh.model.occ
    up, low = placed(sides, chord, twist)
    blunt = np.linalg.norm(up[0] - low[-1]) > 1e-9
    pu = [occ.addPoint(at[0] + p[0], at[1], at[2] + p[1]) for p in up]
    pl = (
        [pu[-1]]
        + [occ.addPoint(at[0] + p[0], at[1], at[2] + p[1]) for p in low[1:-1]]
        + [occ.addPoint(at[0] + low[-1][0], at[1], at[2] + low[-1][1]) if blunt else pu[0]]
    )
    curves = [occ.addBSpline(pu), occ.addBSpline(pl)]
    if blunt:
        curves.append(occ.addLine(pl[-1], pu[0]))
    return occ.addWire(curves)


def revolved(points, splines):
    """A solid of revolution about x; splines: lists of (x, r), joined end to end from axis to axis."""
    occ = gmsh.model.occ
    made = {}

    def point(p):
        key = tuple(np.round(p, 9))
        return made.setdefault(key, made.get(key) or occ.addPoint(p[0], 0, p[1]))

    curves = []
    for s in splines:
        q = [point(p) for p in s]
        curves.append(occ.addLine(*q) if len(q) == 2 else occ.addBSpline(q))
    first, last = splines[0][0], splines[-1][-1]
    curves.append(occ.addLine(point(last), point(first)))
    face = occ.addPlaneSurface([occ.addCurveLoop(curves)])
    return [t for d, t in occ.revolve([(2, face)], 0, 0, 0, 1, 0, 0, 2 * np.pi) if d == 3][0]


def loft(wires):
    return [t for d, t in gmsh.model.occ.addThruSections(wires, makeSolid=True, makeRuled=True) if d == 3][0]


@mesh
def rectwing():
    """A rectangular wing NACA 0012 of aspect ratio 5, sharp edge, flat tip: tetrahedra, coarse."""
    s = section(camber4(0, 0.4), 0.12, points=25)
    body = loft([occ_section(s, 1, (0, -0.2, 0)), occ_section(s, 1, (0, 2.5, 0))])
    low, high = (-6, 0, -6), (9, 8, 6)
    in_box([body], low, high, {("wall",): (0.055, 1.8, 7)}, box_sides(low, high))


@mesh
def sweptwing():
    """A swept, tapered, twisted wing with a blunt edge: tetrahedra."""
    s = section(camber4(0.015, 0.5), 0.11, gap=0.006, points=25)
    y = np.array([-0.1, 1.4])
    wires = [occ_section(s, 1 - 0.4 * a, (0.6 * a, a, 0.05 * a), -2.0 * a) for a in y]
    low, high = (-5, 0, -5), (8, 6, 5)
    in_box([loft(wires)], low, high, {("wall",): (0.03, 1.3, 5)}, box_sides(low, high))


@mesh
def wingbody():
    """A spindle with a swept wing: tetrahedra."""
    occ = gmsh.model.occ
    x = np.linspace(0, 1, 41)
    r = 0.22 * np.maximum(1 - (2 * x - 1) ** 2, 0) ** 0.75
    body = revolved(None, [[(-1.2 + 4 * a, b) for a, b in zip(x, r)]])
    s = section(camber4(0, 0.4), 0.12, gap=0.004, points=25)
    wing = loft([occ_section(s, 1 - 0.3 * a, (0.5 * a, a, 0.03), 0) for a in (0.0, 1.6)])
    whole, _ = occ.fuse([(3, body)], [(3, wing)])
    low, high = (-7, 0, -6), (10, 7, 6)
    in_box([t for _, t in whole], low, high, {("wall",): (0.048, 1.6, 6)}, box_sides(low, high))


@mesh
def ahmed():
    """Ahmed's body without stilts, 25 degrees, on a ground: tetrahedra; lengths in metres."""
    occ = gmsh.model.occ
    b = occ.addBox(0, -0.1945, 0.05, 1.044, 0.389, 0.288)
    occ.synchronize()
    front = [
        t
        for d, t in gmsh.model.getBoundary(gmsh.model.getBoundary([(3, b)], oriented=False, combined=False), oriented=False, combined=False)
        if abs(occ.getCenterOfMass(1, t)[0]) < 1e-6
    ]
    body = occ.fillet([b], sorted(set(front)), [0.1])
    h = 0.2013 * np.tan(np.radians(25))
    p = [
        occ.addPoint(x, -0.3, z)
        for x, z in [(1.044 - 0.2013, 0.338), (1.1, 0.338 - h * (0.2013 + 0.056) / 0.2013), (1.1, 0.5), (1.044 - 0.2013, 0.5)]
    ]
    face = occ.addPlaneSurface([occ.addCurveLoop([occ.addLine(p[k], p[(k + 1) % 4]) for k in range(4)])])
    wedge = [e for e in occ.extrude([(2, face)], 0, 0.6, 0) if e[0] == 3]
    cut, _ = occ.cut([e for e in body if e[0] == 3], wedge)
    low, high = (-3, 0, 0), (6, 2, 2)
    name = box_sides(low, high, zlow="ground", zhigh="roof", yhigh="side", xlow="inlet", xhigh="outlet")
    in_box([t for _, t in cut], low, high, {("wall",): (0.028, 0.4, 2.5)}, name, [(0.05, 0.4, (-0.1, -1, 0), (2.0, 0.3, 0.4))])


@mesh
def cone():
    """Half of a sharp cone of 10 degrees to its base: tetrahedra."""
    occ = gmsh.model.occ
    body = occ.addCone(0, 0, 0, 1.2, 0, 0, 0, 1.2 * np.tan(np.radians(10)))
    low, high = (-0.3, 0, -0.9), (1.0, 0.9, 0.9)
    in_box([body], low, high, {("wall",): (0.022, 0.14, 0.8)}, box_sides(low, high, xhigh="outlet"))


@mesh
def capsule():
    """Half of a capsule: a heat shield of radius 1.2, a shoulder of 0.05, a cone of 33 degrees behind: tetrahedra."""
    rs, R, c = 0.05, 1.2, 0.45  # shoulder's radius, shield's, radius of the shoulder's center
    phi = np.arcsin(c / (R - rs))
    xc = R - (R - rs) * np.cos(phi)
    q = np.linspace(0, phi, 12)
    shield = [(R - R * np.cos(a), R * np.sin(a)) for a in q]
    turn = np.linspace(np.pi - phi, np.radians(90 - 33), 12)
    shoulder = [(xc + rs * np.cos(a), c + rs * np.sin(a)) for a in turn]
    end = shoulder[-1]
    length = (end[1] - 0.12) / np.tan(np.radians(33))
    tail = (end[0] + length, 0.12)
    body = revolved(None, [shield, [shield[-1]] + shoulder[1:], [end, tail], [tail, (tail[0], 0)]])
    low, high = (-1.2, 0, -2), (3.5, 2, 2)
    in_box([body], low, high, {("wall",): (0.045, 0.26, 1.5)}, box_sides(low, high, xhigh="outlet"))


@mesh
def spheret():
    """Half of a sphere of diameter 1 far from all: tetrahedra."""
    occ = gmsh.model.occ
    low, high = (-10, 0, -10), (15, 10, 10)
    in_box([occ.addSphere(0, 0, 0, 0.5)], low, high, {("wall",): (0.042, 2.0, 10)}, box_sides(low, high))


@mesh
def nozzle3():
    """A round converging-diverging nozzle, quarter of it, tetrahedra."""
    occ = gmsh.model.occ
    x = np.linspace(-0.5, 3.4, 40)
    r = 0.5 * np.sqrt(nozzle_height(x))
    body = revolved(None, [[(x[0], 0), (x[0], r[0])], list(zip(x, r)), [(x[-1], r[-1]), (x[-1], 0)]])
    box = occ.addBox(-1, 0, 0, 6, 2, 2)
    out, _ = occ.intersect([(3, body)], [(3, box)])
    occ.synchronize()
    groups = {}
    for _, tag in gmsh.model.getBoundary(out, oriented=False):
        b = gmsh.model.getBoundingBox(2, tag)
        flat = [abs(b[d] - b[d + 3]) < 1e-4 for d in range(3)]
        name = "symmetry" if flat[1] or flat[2] else ("inlet" if b[0] < 0 else "outlet") if flat[0] else "wall"
        groups.setdefault(name, []).append(tag)
    for n, tags in groups.items():
        mark(2, n, tags)
    mark(3, "fluid", [t for _, t in out])
    sizes([(2, groups["wall"], 0.042, 0.06, 0.4)])


def disk(cells, first=None, radial=10):
    """A disk of radius 1 of quadrilaterals: a core and four blocks around."""
    geo = gmsh.model.geo
    o = geo.addPoint(0, 0, 0)
    a = [geo.addPoint(r * np.cos(q), r * np.sin(q), 0) for r in (0.55, 1) for q in np.pi / 4 + np.pi / 2 * np.arange(4)]
    inner = [geo.addLine(a[k], a[(k + 1) % 4]) for k in range(4)]
    outer = [geo.addCircleArc(a[4 + k], o, a[4 + (k + 1) % 4]) for k in range(4)]
    spoke = [geo.addLine(a[4 + k], a[k]) for k in range(4)]
    faces = [geo.addPlaneSurface([geo.addCurveLoop(inner)])]
    for k in range(4):
        faces.append(geo.addPlaneSurface([geo.addCurveLoop([outer[k], spoke[(k + 1) % 4], -inner[k], -spoke[k]])]))
    for c in inner + outer:
        geo.mesh.setTransfiniteCurve(c, cells + 1)
    ratio = 1.0
    if first:
        lo, hi = 1.0, 4.0
        for _ in range(100):
            ratio = 0.5 * (lo + hi)
            lo, hi = (lo, ratio) if first * (ratio**radial - 1) / (ratio - 1) > 0.45 else (ratio, hi)
    for c in spoke:
        geo.mesh.setTransfiniteCurve(c, radial + 1, "Progression", ratio)
    for f in faces:
        geo.mesh.setTransfiniteSurface(f)
        geo.mesh.setRecombine(2, f)
    geo.synchronize()
    mark(1, "wall", outer)
    mark(2, "fluid", faces)
    gmsh.model.mesh.generate(2)


@mesh
def venturi():
    """A round tube with a throat, hexahedra in five blocks, first cell 3e-4 of the radius."""
    disk(6, 3e-4, 14)
    x = np.concatenate([np.linspace(-2, -1, 9)[:-1], np.linspace(-1, 1.5, 33)[:-1], 1.5 + 4.5 * stretched(12, 0.02)])
    r = 0.5 - 0.12 * np.where(np.abs(x) < 1, np.cos(np.pi * x / 2) ** 2, 0)
    extruded(len(x) - 1, ("inlet", "outlet"), lambda k, n: np.column_stack([np.full(len(n), x[k]), r[k] * n]))


@mesh
def pipebend():
    """A round tube that turns by 90 degrees, of prisms: triangles of the disk carried along."""
    sizes([(1, round_face(), 0.11, 0.2, 0.7)])
    gmsh.model.mesh.generate(2)
    s = np.concatenate([np.linspace(-2, 0, 11)[:-1], np.linspace(0, 1.5 * np.pi / 2, 27)[:-1], 1.5 * np.pi / 2 + np.linspace(0, 4, 20)])

    def place(k, n):
        q = np.clip(s[k] / 1.5, 0, np.pi / 2)
        center = np.array([1.5 * np.sin(q), 0, 1.5 * (1 - np.cos(q))])
        along = np.array([np.cos(q), 0, np.sin(q)])
        center = center + along * (s[k] - 1.5 * q)
        return center + 0.5 * n[:, :1] * np.array([0, 1, 0]) + 0.5 * n[:, 1:] * np.array([-np.sin(q), 0, np.cos(q)])

    extruded(len(s) - 1, ("inlet", "outlet"), place)


@mesh
def extrq():
    """NACA 2412, blunt, one layer of prisms and hexahedra along y between planes of symmetry, first cell 1e-5."""
    a, te, le = section_curves(section(camber4(0.02, 0.4), 0.12, False))
    in_far_field([a], 20)
    mark(1, "wall", a)
    sizes([(1, a, 0.018, 3, 20), (0, te + [le], 0.004, 3, 20)], [(0.08, 3, (1, -0.2), (2.0, 0.3))])
    layer(a, te, 1e-5, 1.3, 0.04, True)
    gmsh.model.mesh.generate(2)
    extruded(1, ("left", "right"), lambda k, n: np.column_stack([n[:, 0], np.full(len(n), 0.1 * k), n[:, 1]]))


@mesh
def extrt():
    """NACA 0010, sharp, two layers of prisms along z between planes of symmetry, no layer at the wall."""
    a, te, le = section_curves(section(camber4(0, 0.4), 0.10))
    in_far_field([a], 12)
    mark(1, "wall", a)
    sizes([(1, a, 0.02, 2, 12), (0, te + [le], 0.004, 2, 12)])
    gmsh.model.mesh.generate(2)
    extruded(2, ("front", "back"), lambda k, n: np.column_stack([n, np.full(len(n), 0.25 * k)]))


@mesh
def cubed():
    """A whole sphere of diameter 1 in six blocks of hexahedra, first cell 4e-3."""
    n = 11
    g = np.tan(np.linspace(-np.pi / 4, np.pi / 4, n))
    at = 0.5 + 19.5 * stretched(30, 4e-3 / 19.5)
    places, cells, wall, far, index = [], [], [], [], {}

    def num(p):
        return index.setdefault(tuple(np.round(p, 8)), len(index))

    quads = []
    for axis in range(3):
        for sign in (-1, 1):
            f = np.empty((n, n), int)
            for i in range(n):
                for j in range(n):
                    v = np.empty(3)
                    v[axis], v[(axis + 1) % 3], v[(axis + 2) % 3] = sign, g[i], g[j]
                    f[i, j] = num(v / np.linalg.norm(v))
            q = np.stack([f[:-1, :-1], f[1:, :-1], f[1:, 1:], f[:-1, 1:]], -1).reshape(-1, 4)
            quads.append(q if sign > 0 else q[:, ::-1])
    quads = np.concatenate(quads)
    ray = np.array(list(index.keys()))
    ray /= np.linalg.norm(ray, axis=1)[:, None]
    m = len(ray)
    nodes = np.concatenate([r * ray for r in at])
    cells = np.concatenate([np.concatenate([quads + k * m, quads + (k + 1) * m], 1) for k in range(len(at) - 1)])
    discrete(nodes, 3, {5: cells}, {"wall": {3: quads}, "far": {3: quads + (len(at) - 1) * m}})


@mesh
def corner():
    """A corner of two wedges of 9.5 degrees, hexahedra 28 x 23 x 23."""
    x = np.concatenate([np.linspace(-0.2, 0, 6)[:-1], np.linspace(0, 1, 24)])
    at = stretched(23, 0.015)
    t = np.tan(np.radians(9.5)) * np.maximum(x, 0)
    P = np.empty((len(x), 24, 24, 3))
    P[..., 0] = x[:, None, None]
    P[..., 1] = t[:, None, None] + (0.9 - t[:, None, None]) * at[None, :, None]
    P[..., 2] = t[:, None, None] + (0.9 - t[:, None, None]) * at[None, None, :]
    hexes(P, lambda axis, end: {(0, 0): "inlet", (0, -1): "outlet", (1, 0): "wall", (2, 0): "wall"}.get((axis, end), "far"))


def surface_triangles():
    """Points and triangles of the surfaces in Gmsh, which are meshed; triangles turn as Gmsh has them."""
    tags, xyz, _ = gmsh.model.mesh.getNodes()
    tri = gmsh.model.mesh.getElementsByType(2)[1].reshape(-1, 3)
    used = np.unique(tri)
    where, place = np.zeros((int(tags.max()) + 1, 3)), np.zeros(int(tags.max()) + 1, int)
    where[tags] = xyz.reshape(-1, 3)
    place[used] = np.arange(len(used))
    return where[used], place[tri]


def prism_body(first, ratio, layers, size, far, radius, stretch):
    """A full ellipsoid under prisms, tetrahedra out to a sphere: Gmsh's triangles of a unit sphere, carried outwards, all stretched along x."""
    occ = gmsh.model.occ
    occ.addSphere(0, 0, 0, 0.5)
    occ.synchronize()
    gmsh.model.mesh.setSize(gmsh.model.getEntities(0), size)
    gmsh.option.setNumber("Mesh.MeshSizeMax", size)
    gmsh.model.mesh.generate(2)
    ray, tri = surface_triangles()
    ray = ray / 0.5
    a, b, c = ray[tri[:, 0]], ray[tri[:, 1]], ray[tri[:, 2]]
    turned = np.einsum("ij,ij->i", np.cross(b - a, c - a), a) < 0
    tri[turned] = tri[turned][:, ::-1]
    at = 0.5 + np.concatenate([[0], np.cumsum(first * ratio ** np.arange(layers))])
    growth = f"{size} + {(far - size) / (radius - 0.5)}*(Sqrt(x*x+y*y+z*z)-0.5)"
    under_prisms(at[:, None, None] * ray, tri, growth, radius, stretch)


def under_prisms(rows, tri, growth, radius, stretch=(1, 1, 1)):
    """Prisms between rows (k, m, 3) of points of triangles that turn outwards, tetrahedra from the last to a sphere, of the size `growth` (x, y, z)."""
    # Tetrahedra between the last layer and a far sphere: the layer's triangles as a discrete surface.
    layers, m = len(rows) - 1, rows.shape[1]
    gmsh.model.remove()
    gmsh.model.add("outer")
    gmsh.option.setNumber("Mesh.MeshSizeMax", 1e22)
    inner = gmsh.model.addDiscreteEntity(2)
    gmsh.model.mesh.addNodes(2, inner, np.arange(1, m + 1), rows[-1].ravel())
    gmsh.model.mesh.addElementsByType(inner, 2, [], (tri + 1).ravel())
    geo = gmsh.model.geo
    o = geo.addPoint(0, 0, 0)
    p = [geo.addPoint(*(radius * np.array(v, float)), 0) for v in [(1, 0, 0), (0, 1, 0), (-1, 0, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)]]
    ring = [geo.addCircleArc(p[k], o, p[(k + 1) % 4]) for k in range(4)]
    up, down = ([geo.addCircleArc(p[k], o, p[e]) for k in range(4)] for e in (4, 5))
    patches = [geo.addSurfaceFilling([geo.addCurveLoop([ring[k], leg[(k + 1) % 4], -leg[k]])]) for leg in (up, down) for k in range(4)]
    v = geo.addVolume([geo.addSurfaceLoop(patches), geo.addSurfaceLoop([inner])])
    geo.synchronize()
    gmsh.option.setNumber("Mesh.Renumber", 0)
    field = gmsh.model.mesh.field
    f = field.add("MathEval")
    field.setString(f, "F", growth)
    field.setAsBackgroundMesh(f)
    for key in ["MeshSizeExtendFromBoundary", "MeshSizeFromPoints", "MeshSizeFromCurvature"]:
        gmsh.option.setNumber("Mesh." + key, 0)
    gmsh.model.mesh.generate(3)
    tags, xyz, _ = gmsh.model.mesh.getNodes()
    tets = gmsh.model.mesh.getElementsByType(4)[1].reshape(-1, 4)
    outer = np.concatenate([gmsh.model.mesh.getElementsByType(2, s)[1].reshape(-1, 3) for s in patches])
    where = np.zeros((int(tags.max()) + 1, 3))
    where[tags] = xyz.reshape(-1, 3)
    new = np.setdiff1d(np.unique(tets), np.arange(1, m + 1))
    place = np.zeros(int(tags.max()) + 1, int)
    base = layers * m
    place[1 : m + 1] = base + np.arange(m)
    place[new] = base + m + np.arange(len(new))
    nodes = np.concatenate([rows.reshape(-1, 3), where[new]])
    tets, outer = place[tets], place[outer]
    prisms = np.concatenate([np.concatenate([tri + k * m, tri + (k + 1) * m], 1) for k in range(layers)])
    nodes = nodes * np.array(stretch)
    q = nodes[tets]
    vol = np.einsum("ij,ij->i", np.cross(q[:, 1] - q[:, 0], q[:, 2] - q[:, 0]), q[:, 3] - q[:, 0])
    tets[vol < 0] = tets[vol < 0][:, [1, 0, 2, 3]]
    gmsh.model.remove()
    gmsh.model.add("body")
    discrete(nodes, 3, {6: prisms, 4: tets}, {"wall": {2: tri}, "far": {2: outer}})


@mesh
def spheroid():
    """A whole ellipsoid of 4 : 1 : 0.8 under 12 layers of prisms from 2e-3, tetrahedra beyond."""
    prism_body(2e-3, 1.3, 12, 0.075, 3.0, 10.0, (4, 1, 0.8))


@mesh
def spheroidv():
    """A whole ellipsoid of 4 : 1 : 1 under 22 layers of prisms from 1.5e-5, tetrahedra beyond."""
    prism_body(1.5e-5, 1.35, 22, 0.088, 3.0, 12.0, (4, 1, 1))


@mesh
def pyramids():
    """A channel with a bump: hexahedra below, a layer of pyramids, tetrahedra above (cells of the grid cut from their middles)."""
    nx, ny, nz, low = 42, 10, 12, 6
    x = np.concatenate([np.linspace(-1, 0, 11)[:-1], np.linspace(0, 1, 23)[:-1], np.linspace(1, 2, 11)])
    y, at = np.linspace(0, 0.8, ny + 1), stretched(nz, 0.035)
    floor = np.where((x > 0) & (x < 1), 0.08 * np.sin(np.pi * x) ** 2, 0)
    P = np.empty((nx + 1, ny + 1, nz + 1, 3))
    P[..., 0], P[..., 1] = x[:, None, None], y[None, :, None]
    P[..., 2] = floor[:, None, None] + at[None, None, :] * (1 - floor[:, None, None])
    rng = np.random.default_rng(11)
    P[1:-1, 1:-1, low + 1 : -1] += rng.uniform(-0.008, 0.008, P[1:-1, 1:-1, low + 1 : -1].shape)
    num = np.arange(P[..., 0].size).reshape(P.shape[:3])
    nodes = list(P.reshape(-1, 3))
    hexa, pyra, tets, sides = [], [], [], {}

    def mark_face(name, quad, cut):
        group = sides.setdefault(name, {2: [], 3: []})
        if cut:
            group[2] += halves(quad)
        else:
            group[3].append(quad)

    def halves(q):
        k = int(np.argmin(q))
        q = q[k:] + q[:k]
        return [[q[0], q[1], q[2]], [q[0], q[2], q[3]]]

    for i in range(nx):
        for j in range(ny):
            for k in range(nz):
                c = [int(num[i + a, j + b, k + d]) for d in (0, 1) for a, b in ((0, 0), (1, 0), (1, 1), (0, 1))]
                around = {
                    "bottom": [0, 1, 2, 3],
                    "top": [4, 7, 6, 5],
                    "y0": [0, 4, 5, 1],
                    "x1": [1, 5, 6, 2],
                    "y1": [2, 6, 7, 3],
                    "x0": [3, 7, 4, 0],
                }
                around = {n: [c[v] for v in f] for n, f in around.items()}
                if k < low:
                    hexa.append(c)
                else:
                    middle = len(nodes)
                    nodes.append(np.mean([nodes[v] for v in c], 0))
                    for n, f in around.items():
                        if n == "bottom" and k == low:
                            pyra.append(f + [middle])
                        else:
                            tets += [t + [middle] for t in halves(f)]
                for n, at_side, name in (
                    ("x0", i == 0, "inlet"),
                    ("x1", i == nx - 1, "outlet"),
                    ("y0", j == 0, "symmetry"),
                    ("y1", j == ny - 1, "symmetry"),
                    ("bottom", k == 0, "wall"),
                    ("top", k == nz - 1, "top"),
                ):
                    if at_side:
                        mark_face(name, around[n], k >= low)
    nodes, tets = np.array(nodes), np.array(tets)
    q = nodes[tets]
    back = np.einsum("ij,ij->i", np.cross(q[:, 1] - q[:, 0], q[:, 2] - q[:, 0]), q[:, 3] - q[:, 0]) < 0
    tets[back] = tets[back][:, [1, 0, 2, 3]]
    discrete(nodes, 3, {5: np.array(hexa), 7: np.array(pyra), 4: tets}, sides)


NAMES = {2: "tri", 3: "quad", 4: "tet", 5: "hex", 6: "prism", 7: "pyr"}


def report(dim):
    told = []
    for kind in gmsh.model.mesh.getElementTypes(dim):
        tags = gmsh.model.mesh.getElementsByType(kind)[0]
        if len(tags):
            v = gmsh.model.mesh.getElementQualities(tags, "gamma" if kind == 4 else "minSJ")
            w = gmsh.model.mesh.getElementQualities(tags, "minDetJac")
            told.append(f"{len(tags)} {NAMES.get(kind, kind)} minSJ {v.min():.2g} bad {(v <= 0).sum()} detJ>{w.min():.1e}")
    return "; ".join(told)


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or MADE:
        began = time.time()
        gmsh.initialize()
        gmsh.option.setNumber("General.Verbosity", 2)
        gmsh.option.setNumber("General.NumThreads", 1)
        gmsh.option.setNumber("Mesh.MshFileVersion", 4.1 if name not in BINARY else 2.2)
        gmsh.option.setNumber("Mesh.Binary", int(name in BINARY))
        gmsh.model.add(name)
        try:
            MADE[name]()
            dim = gmsh.model.getDimension()
            if len(gmsh.model.mesh.getElementTypes(dim)) == 0:
                gmsh.model.mesh.generate(dim)
            path = folder / f"{name}.msh"
            gmsh.write(str(path))
            gmsh.clear()
            gmsh.open(str(path))
            sides = {
                gmsh.model.getPhysicalName(d, t): len(
                    np.concatenate(
                        [np.concatenate(gmsh.model.mesh.getElements(d, e)[1]) for e in gmsh.model.getEntitiesForPhysicalGroup(d, t)]
                    )
                )
                for d, t in gmsh.model.getPhysicalGroups(dim - 1)
            }
            print(
                f"{name}: {len(gmsh.model.mesh.getNodes()[0])} nodes, {report(dim)} | {sides} | {path.stat().st_size / 1e6:.2f} MB {time.time() - began:.0f} s",
                flush=True,
            )
        except Exception as error:
            print(f"{name}: FAILED {error!r}", flush=True)
        gmsh.finalize()


if __name__ == "__main__":
    main()
