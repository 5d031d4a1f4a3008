"""Meshes of `unseen.py`: wings, a wing with a body and a ring by Gmsh; prisms and tetrahedra cut from layers; bluff, iced, coarse, tiny and
extremely stretched sections; a row of blades for layers, ducts, a cavity."""

import gmsh
import numpy as np

from by_hand import foil, o_grid
from kit import PRISM, TAU, TET, Soup, both_ends, extruded, grid, mesh, naca, rings, stretched, triangles, uneven

# A prism seen from each of its corners, and its tetrahedra as the diagonals of its sides leave their lowest corners.
SEEN = ((0, 1, 2, 3, 4, 5), (1, 2, 0, 4, 5, 3), (2, 0, 1, 5, 3, 4), (3, 5, 4, 0, 2, 1), (4, 3, 5, 1, 0, 2), (5, 4, 3, 2, 1, 0))
CUTS = (((0, 1, 2, 5), (0, 1, 5, 4), (0, 4, 5, 3)), ((0, 1, 2, 4), (0, 4, 2, 5), (0, 4, 5, 3)))


def tetrahedra(soup):
    """Of a soup of prisms, without hanging nodes."""
    tets = []
    for prism in soup.cells[PRISM]:
        v = prism[list(SEEN[int(np.argmin(prism))])]
        tets += [v[list(t)] for t in CUTS[0 if min(v[1], v[5]) < min(v[2], v[4]) else 1]]
    return Soup(soup.points, {TET: tets})


# ---- Sections ------------------------------------------------------------------------------------------------------------------------


@mesh
def bluff():
    """A cylinder of diameter 1 for turbulent layers."""
    angle = -TAU * np.linspace(0, 1, 97)
    circle = np.stack([np.cos(angle), np.sin(angle)], 1)
    radius = 0.5 + 25 * stretched(64, 4e-7)
    points = circle[:, None] * radius[None, :, None] + [0.5, 0]
    points[-1] = points[0]
    return grid(points).tidy(), foil


@mesh
def ice():
    """A section with a horn of ice above its nose."""
    section = naca("0012", 60)
    x, y = section.T
    horn = 0.025 * np.exp(-(((x - 0.03) / 0.025) ** 2)) * np.clip(50 * y, 0, 1)
    section = section + np.stack([-0.5 * horn, horn], 1)
    turn = -TAU * np.linspace(0, 1, len(section))
    outer = 20 * np.stack([np.cos(turn), np.sin(turn)], 1) + [0.5, 0]
    # Lines leave along the normals for some hundredths of a chord: farther out those of the hollow behind the horn meet.
    points = rings(section, outer, stretched(60, 5e-7), 500)
    points[-1] = points[0]
    return grid(points).tidy(), foil


@mesh
def coarse():
    """A section of 24 places, 360 nodes."""
    return o_grid(naca("0012", 12), 12, 8e-3 / 12, 14), foil


@mesh
def coarset():
    """The same of triangles cut by chance, for a layer, 480 nodes."""
    return triangles(o_grid(naca("0012", 12), 12, 3e-5 / 12, 19), seed=1), foil


@mesh
def thin():
    """A section whose first cells are 1e5 times as long as high."""
    return o_grid(naca("2410", 40), 20, 3e-7 / 20, 72), foil


@mesh
def milli():
    """A section of a millimetre for layers, triangles in half of it."""
    soup = triangles(o_grid(naca("1412", 44), 16, 2e-5 / 16, 52), seed=4, where=lambda m: m[:, 1] > 0)
    soup.points = 1e-3 * soup.points
    return soup, lambda m, n: foil(1e3 * m, n)


@mesh
def rowv():
    """A row of blades at 30 degrees to its front, fine at them and, as the pitch repeats, before and behind them."""
    x = np.r_[-1 + uneven(20, 1)[:-1], uneven(40, 2, 0.3)[:-1], 1 + 1.2 * uneven(24, 3)]
    t = np.where((x > 0) & (x < 1), 0.05 * 4 * x * (1 - x), 0.0)
    mean = np.tan(np.radians(30)) * np.clip(x, 0, 1) * (1 - 0.5 * np.clip(x, 0, 1))
    eta = both_ends(48, 1e-4)
    low, high = mean + t, mean + 0.7 - t
    points = np.stack([np.broadcast_to(x[:, None], (len(x), len(eta))), low[:, None] + (high - low)[:, None] * eta], -1)

    def name(m, n):
        if m[0] < -1 + 1e-9 or m[0] > 2.2 - 1e-9:
            return "inlet" if m[0] < 0 else "outlet"
        upper = m[1] > np.interp(m[0], x, mean) + 0.35
        return "blade" if 0 < m[0] < 1 else "high" if upper else "low"

    return grid(points), name


# ---- In space ------------------------------------------------------------------------------------------------------------------------


def tapered(cut):
    """A swept and tapered wing between two planes, layers of triangles along its span: prisms, or tetrahedra cut from them."""
    plane = triangles(o_grid(naca("0012", 20), 8, 2e-5 / 8, 30), seed=9)
    solid = extruded(plane, np.linspace(0, 1.2, 7))
    x, y, z = solid.points.T
    less = 1 - 0.3 * z / 1.2
    solid.points = np.stack([x * less + 0.5 * z, z, y * less], 1)
    return cut(solid), lambda m, n: "sides" if abs(n[1]) > 0.9 else foil(m[[0, 2]] - [0.5 * m[1], 0], n)


@mesh
def prismwing():
    return tapered(lambda solid: solid)


@mesh
def tetwing():
    return tapered(tetrahedra)


@mesh
def sduct():
    """A duct of a square section that bends twice."""
    x, a = np.linspace(0, 4, 41), both_ends(12, 0.03) - 0.5
    points = np.stack(np.meshgrid(x, a, a, indexing="ij"), -1)
    t = np.clip((points[..., 0] - 0.5) / 3, 0, 1)
    points[..., 1] += t * t * (3 - 2 * t)
    return grid(points), lambda m, n: "inlet" if m[0] < 1e-6 else "outlet" if m[0] > 4 - 1e-6 else "wall"


@mesh
def cavity3():
    """A cube of tetrahedra, cut along lines of unequal steps."""
    a = uneven(9, 3, 0.4)
    plane = triangles(grid(np.stack(np.meshgrid(a, uneven(9, 4, 0.4), indexing="ij"), -1)), seed=2)
    return tetrahedra(extruded(plane, uneven(9, 5, 0.4))), lambda m, n: "lid" if m[1] > 1 - 1e-6 else "wall"


@mesh
def grain():
    """A ball in a box, of some 400 nodes."""
    return cut_out(lambda: gmsh.model.occ.addSphere(0, 0, 0, 0.5), (-4, 0, -4), (4, 4, 4), 0.2, 2.2)


def cut_out(body, low, high, near, far):
    """Tetrahedra of a box less a body, `near` at it, `far` at the box; its side at the lowest y is a plane of symmetry."""
    gmsh.initialize(interruptible=False)
    try:
        gmsh.option.setNumber("General.Terminal", 0)
        occ, field = gmsh.model.occ, gmsh.model.mesh.field
        box = occ.addBox(*low, *np.subtract(high, low))
        occ.cut([(3, box)], [(3, body())])
        occ.synchronize()
        inside = lambda b: all(b[k] > low[k] + 1e-3 and b[3 + k] < high[k] - 1e-3 for k in (0, 2)) and b[4] < high[1] - 1e-3 and b[4] > low[1] + 1e-6
        walls = [tag for _, tag in gmsh.model.getBoundary(gmsh.model.getEntities(3), oriented=False) if inside(gmsh.model.getBoundingBox(2, tag))]
        away, ramp = field.add("Distance"), field.add("Threshold")
        field.setNumbers(away, "SurfacesList", walls)
        field.setNumber(away, "Sampling", 60)
        for key, value in {"InField": away, "SizeMin": near, "SizeMax": far, "DistMin": 0, "DistMax": max(high) * 0.9}.items():
            field.setNumber(ramp, key, value)
        field.setAsBackgroundMesh(ramp)
        for key in ("MeshSizeExtendFromBoundary", "MeshSizeFromPoints", "MeshSizeFromCurvature"):
            gmsh.option.setNumber("Mesh." + key, 0)
        gmsh.model.mesh.generate(3)
        tags, points, _ = gmsh.model.mesh.getNodes()
        place = np.zeros(int(tags.max()) + 1, int)
        place[tags.astype(int)] = np.arange(len(tags))
        tets = place[gmsh.model.mesh.getElementsByType(4)[1].astype(int)].reshape(-1, 4)
        soup = Soup(points.reshape(-1, 3), {TET: tets}).tidy(1e-12)
    finally:
        gmsh.finalize()

    def name(m, n):
        if abs(m[1] - low[1]) < 1e-6:
            return "symmetry"
        return "far" if any(abs(m[k] - side[k]) < 1e-6 for side in (low, high) for k in range(3)) else "wall"

    return soup, name


def wing(places):
    """A solid through NACA sections: code, chord, place."""
    occ, wires = gmsh.model.occ, []
    for code, chord, at in places:
        points = [occ.addPoint(at[0] + chord * x, at[1], at[2] + chord * y) for x, y in naca(code, 16)[:-1]]
        half = len(points) // 2
        wires.append(occ.addWire([occ.addSpline(points[: half + 1]), occ.addSpline(points[half:] + points[:1])]))
    return occ.addThruSections(wires, makeSolid=True, makeRuled=True)[0][1]


@mesh
def fighter():
    """A thin swept wing with a sharp tip chord, for supersonic flow."""
    return cut_out(lambda: wing([("0005", 1.0, (0, 0, 0)), ("0004", 0.4, (0.8, 1.0, 0))]), (-4, 0, -5), (7, 5, 5), 0.045, 1.3)


@mesh
def transport():
    """A body with a wing and a ring for an engine below it."""

    def parts():
        occ = gmsh.model.occ
        nose, tube, tail = occ.addSphere(-1.5, 0, 0, 0.25), occ.addCylinder(-1.5, 0, 0, 3, 0, 0, 0.25), occ.addCone(1.5, 0, 0, 1.2, 0, 0, 0.25, 0.05)
        return occ.fuse([(3, tube)], [(3, nose), (3, tail), (3, wing([("0012", 1.0, (-0.6, 0.0, -0.05)), ("0010", 0.5, (0.0, 1.7, 0.05))]))])[0][0][1]

    return cut_out(parts, (-8, 0, -7), (9, 7, 7), 0.075, 1.9)


@mesh
def ring():
    """A nacelle through which the flow passes: a ring whose section is a cambered one, half of it."""

    def solid():
        occ = gmsh.model.occ
        section = wing_face("2412")
        return occ.revolve([(2, section)], 0, 0, 0, 1, 0, 0, TAU)[1][1]

    def wing_face(code):
        occ = gmsh.model.occ
        points = [occ.addPoint(x, 0, 0.45 - y) for x, y in naca(code, 14)[:-1]]
        half = len(points) // 2
        lines = [occ.addSpline(points[: half + 1]), occ.addSpline(points[half:] + points[:1])]
        return occ.addPlaneSurface([occ.addCurveLoop(lines)])

    return cut_out(solid, (-4, 0, -4), (5, 4, 4), 0.06, 1.2)
