"""Meshes of `others.py` that are written point by point."""

import numpy as np

from kit import (
    TAU,
    Soup,
    both_ends,
    extruded,
    grid,
    jiggled,
    joined,
    mesh,
    naca,
    normals,
    revolved,
    rings,
    split_hexes,
    stretched,
    triangles,
    uneven,
)


def foil(middle, _):
    return "far" if np.hypot(middle[0] - 0.5, middle[1]) > 3 else "wall"


def box(x0, x1, y0, y1):
    """Names of the sides of a channel, `low` and `high` whatever their shape."""

    def name(middle, normal):
        if middle[0] < x0 + 1e-6:
            return "inlet"
        if middle[0] > x1 - 1e-6:
            return "outlet"
        return "low" if middle[1] < 0.5 * (y0 + y1) else "high"

    return name


# ---- Airfoils ------------------------------------------------------------------------------------------------------------------------


def joukowski(turn, ratios, center=complex(-0.1, 0.08)):
    """Points [i, j, 2] around Joukowski's section of a circle about `center` through 1: places on circles, whose radii are given."""
    radius = abs(1 - center)
    beta = np.arcsin(center.imag / radius)
    z = center + radius * ratios[None, :] * np.exp(1j * (turn[:, None] - beta))
    w = z + 1 / z
    return np.stack([w.real / 4 + 0.5, w.imag / 4], -1)


@mesh
def jouk():
    """Joukowski's section, conformal, cells of unequal length around it."""
    turn = TAU * uneven(128, 3)
    points = joukowski(turn, 1 + 60 * stretched(48, 4e-4))
    points[-1] = points[0]
    return grid(points).tidy(), foil


@mesh
def joukt():
    """The same coarser, cut by chance into triangles."""
    turn = TAU * np.linspace(0, 1, 97)
    points = joukowski(turn, 1 + 80 * stretched(36, 5e-4))
    points[-1] = points[0]
    return triangles(grid(points).tidy(), seed=5), foil


def c_grid(section, first, rows, wake, reach, near):
    """A C-grid around a section whose trailing edge is one point; the cut behind it is one line of points, from steps `near` of its length."""
    tail = section[0]
    back = (tail + np.outer(reach * stretched(wake, near), [1, 0]))[:0:-1]
    inner = np.concatenate([back, section, back[::-1]])
    turn = np.pi * np.linspace(0, 1, len(section))
    low = np.stack([back[:, 0], np.full(wake, -reach)], 1)
    around = np.stack([tail[0] - reach * np.sin(turn), -reach * np.cos(turn)], 1)
    # Upright from the last tenth of the section on, where lines would meet those of the wake.
    side = np.sign(np.linspace(-1, 1, len(inner)))[:, None] * [0, 1]
    upright = np.clip((inner[:, :1] - 0.7) / 0.29, 0, 1)
    leave = (1 - upright) * normals(inner) + upright * side
    leave /= np.linalg.norm(leave, axis=1, keepdims=True)
    outer = np.concatenate([low, around, (low * [1, -1])[::-1]])
    return grid(rings(inner, outer, stretched(rows, first), 12, leave)).tidy()


@mesh
def nacac():
    """NACA 1410, C-grid from 1e-5 chords."""
    return c_grid(naca("1410", 56), 1e-5 / 20, 56, 32, 20, 2e-4), foil


@mesh
def nacacm():
    """The same inside, from 1e-3, rows far out cut into triangles."""
    soup = c_grid(naca("0009", 40), 1e-3 / 15, 36, 20, 15, 1e-3)
    return triangles(soup, where=lambda m: np.hypot(m[:, 0] - 0.5, m[:, 1]) > 0.9), foil


@mesh
def nacaxz():
    """NACA 2414 in the plane of x and z, one layer of hexahedra along y."""
    plane = o_grid(naca("2414", 48), 12, 5e-3 / 12, 40)
    solid = extruded(plane, [0.0, 0.3])
    solid.points = solid.points[:, [0, 2, 1]]

    def name(middle, normal):
        return "sides" if abs(normal[1]) > 0.9 else foil(middle[[0, 2]], None)

    return solid, name


def o_grid(section, reach, first, rows, center=(0.5, 0)):
    n = len(section)
    turn = np.cumsum(np.r_[0, np.linalg.norm(np.diff(section, axis=0), axis=1)])
    angle = -TAU * (0.5 * turn / turn[-1] + 0.5 * np.arange(n) / (n - 1))
    outer = np.array(center) + reach * np.stack([np.cos(angle), np.sin(angle)], 1)
    points = rings(section, outer, stretched(rows, first))
    points[-1] = points[0]
    return grid(points).tidy()


@mesh
def lens():
    """A lens of two arcs with sharp edges, O-grid, jiggled."""
    x = 0.5 * (1 - np.cos(np.pi * np.linspace(0, 1, 49)))
    low = np.stack([x, -0.2 * x * (1 - x)], 1)[::-1]
    return jiggled(o_grid(np.concatenate([low, (low * [1, -1])[::-1][1:]]), 10, 8e-4, 40), 0.15, 7), foil


@mesh
def cyluneven():
    """A cylinder of diameter 1, the far field not about its middle, cells of unequal length."""
    angle = -TAU * uneven(96, 11, 1.0)
    inner = 0.5 * np.stack([np.cos(angle), np.sin(angle)], 1) + [0.5, 0]
    outer = 18 * np.stack([np.cos(angle), np.sin(angle)], 1) + [4, 2]
    points = rings(inner, outer, stretched(52, 1e-3))
    points[-1] = points[0]
    return grid(points).tidy(), foil


# ---- Channels ------------------------------------------------------------------------------------------------------------------------


def channel(x, low, high, eta):
    y = low(x)[:, None] + (high(x) - low(x))[:, None] * eta[None]
    return grid(np.stack([np.broadcast_to(x[:, None], y.shape), y], -1))


@mesh
def wedge10():
    """A wedge of 10 degrees from x = 0.5 to 2, lines leaning, cells of unequal size."""
    x = np.r_[0.5 * uneven(16, 1), 0.5 + 1.5 * uneven(48, 2)[1:]]
    rise = np.tan(np.radians(10))
    soup = channel(x, lambda x: np.maximum(0, x - 0.5) * rise, lambda x: 0 * x + 1.6, uneven(44, 4))
    return jiggled(soup, 0.1, 1), box(0, 2, 0, 1.6)


@mesh
def wedge20t():
    """20 degrees, triangles."""
    x = np.r_[0.5 * uneven(12, 1), 0.5 + 1.0 * uneven(40, 2)[1:]]
    rise = np.tan(np.radians(20))
    soup = channel(x, lambda x: np.maximum(0, x - 0.5) * rise, lambda x: 0 * x + 1.5, uneven(40, 4))
    return triangles(jiggled(soup, 0.2, 1), seed=1), box(0, 1.5, 0, 1.5)


@mesh
def expand15():
    """An expansion around a corner of 15 degrees at x = 0.5."""
    x = np.r_[0.5 * uneven(20, 1), 0.5 + 1.5 * uneven(50, 2)[1:]]
    fall = -np.tan(np.radians(15))
    soup = channel(x, lambda x: np.maximum(0, x - 0.5) * fall, lambda x: 0 * x + 1.2, stretched(40, 8e-3))
    return triangles(soup, where=lambda m: m[:, 1] > 0.5), box(0, 2, -0.2, 1.2)


def laval(x):
    """Height of half a nozzle: 1 at the inlet, 0.5 in the throat at x = 2, 0.7 behind."""
    fore = 0.75 + 0.25 * np.cos(np.pi * np.clip(x, 0, 2) / 2)
    aft = 0.6 - 0.1 * np.cos(np.pi * (np.clip(x, 2, 5) - 2) / 3)
    return np.where(x < 2, fore, aft)


@mesh
def laval2():
    soup = channel(5 * uneven(80, 8, 0.4), lambda x: 0 * x, laval, 1 - stretched(24, 0.01)[::-1])
    return soup, box(0, 5, 0, 1)


@mesh
def laval3():
    """A sector of 6 degrees about the axis, of triangles: prisms, and pyramids and tetrahedra at the axis; r is half the plane's height's root."""
    x = 5 * uneven(60, 9, 0.3)
    soup = triangles(channel(x, lambda x: 0 * x, lambda x: np.sqrt(laval(x)), 1 - stretched(18, 0.03)[::-1]), seed=2)
    return revolved(soup, np.radians([-3, 0, 3])), sector(0, 5, 3)


def sector(x0, x1, half, far=None):
    """Names of the sides of a sector of 2 `half` degrees about x, whose wall is what is nothing else."""
    a = np.radians(half)

    def name(m, n):
        if min(abs(n @ [0, np.sin(a), -np.cos(a)]), 1) > 0.99999 and m[2] > 0:
            return "left"
        if min(abs(n @ [0, np.sin(a), np.cos(a)]), 1) > 0.99999 and m[2] < 0:
            return "right"
        if far is not None and far(m[0], np.hypot(m[1], m[2])):
            return "far"
        if x0 is not None and m[0] < x0 + 1e-6:
            return "inlet"
        if x1 is not None and m[0] > x1 - 1e-6:
            return "outlet"
        return "wall"

    return name


@mesh
def sduct():
    """A square duct with two bends, hexahedra, fine at the walls."""
    x = np.linspace(0, 5, 51)
    eta = both_ends(18, 0.01) - 0.5
    t = np.clip((x - 1) / 3, 0, 1)
    y = 1.2 * t * t * (3 - 2 * t)
    slope = np.gradient(y, x)
    c = 1 / np.hypot(1, slope)
    P = np.empty((51, 19, 19, 3))
    P[..., 0] = x[:, None, None] - (slope * c)[:, None, None] * eta[None, :, None]
    P[..., 1] = y[:, None, None] + c[:, None, None] * eta[None, :, None]
    P[..., 2] = eta[None, None, :]

    def name(m, n):
        return "inlet" if m[0] < 0.01 and abs(n[0]) > 0.9 else "outlet" if m[0] > 4.99 and abs(n[0]) > 0.9 else "wall"

    return grid(P), name


def disk(radius, cells, rows, first):
    """A round section: a square of rounded sides within rings."""
    s = np.linspace(-1, 1, cells + 1)
    a, b = np.meshgrid(s, s, indexing="ij")
    core = 0.5 * radius * np.stack([a * np.sqrt(1 - 0.4 * b * b / 2), b * np.sqrt(1 - 0.4 * a * a / 2)], -1)
    parts = [grid(core)]
    edges = [core[:, 0], core[-1, :], core[::-1, -1], core[0, ::-1]]
    for edge in edges:
        rim = radius * edge / np.linalg.norm(edge, axis=1, keepdims=True)
        t = 1 - stretched(rows, first)[::-1]
        parts.append(grid(edge[:, None] * (1 - t[None, :, None]) + rim[:, None] * t[None, :, None]))
    return joined(*parts)


@mesh
def elbow():
    """A round pipe bent by 90 degrees, radius 0.5, bend of 1.5, with straight pieces; hexahedra."""
    section = disk(0.5, 8, 8, 0.02)
    s = np.r_[-np.linspace(2, 0, 11), np.linspace(0, 1, 19)[1:], 1 + np.linspace(0, 3, 15)[1:]]
    solid = extruded(section, s)
    a, b, t = solid.points.T
    angle, away = np.clip(t, 0, 1) * np.pi / 2, 1.5 - a
    x = away * np.sin(angle) + np.minimum(t, 0)
    y = 1.5 - away * np.cos(angle) + np.maximum(t - 1, 0)
    solid.points = np.stack([x, y, b], 1)

    def name(m, n):
        return "inlet" if m[0] < -1.99 else "outlet" if m[1] > 4.49 else "wall"

    return solid, name


@mesh
def cavity():
    """A driven cavity, cells of unequal size, jiggled."""
    t = both_ends(44, 0.006)
    x, y = np.meshgrid(t, t, indexing="ij")
    return jiggled(grid(np.stack([x, y], -1)), 0.15, 3), lambda m, n: "lid" if m[1] > 1 - 1e-6 else "wall"


@mesh
def cavityt():
    t = np.linspace(0, 1, 41)
    x, y = np.meshgrid(t, t, indexing="ij")
    return triangles(jiggled(grid(np.stack([x, y], -1)), 0.2, 4), seed=4), lambda m, n: "lid" if m[1] > 1 - 1e-6 else "wall"


@mesh
def couette():
    """Flow along x between a wall and a moving one, with sheared cells; periodic."""
    y = both_ends(24, 0.01)
    x = np.linspace(0, 2, 13)
    points = np.stack(np.meshgrid(x, y, indexing="ij"), -1)
    points[..., 0] += 0.4 * np.sin(np.pi * points[..., 1])

    def name(m, n):
        return "low" if m[1] < 1e-9 else "high" if m[1] > 1 - 1e-9 else "inlet" if m[0] < 1 else "outlet"

    return grid(points), name


@mesh
def step2():
    """A backward step of a third of the channel, three blocks of unequal cells."""
    x0, x1 = np.linspace(-2, 0, 25), 8 * stretched(60, 6e-3)
    y0, y1 = 0.5 * both_ends(16, 0.03) - 0.5, both_ends(30, 0.015)
    parts = [np.stack(np.meshgrid(x, y, indexing="ij"), -1) for x, y in ((x0, y1), (x1, y1), (x1, y0))]

    def name(m, n):
        return "inlet" if m[0] < -2 + 1e-6 else "outlet" if m[0] > 8 - 1e-6 else "high" if m[1] > 1 - 1e-6 else "low"

    return joined(*map(grid, parts)), name


@mesh
def platet():
    """A plate from x = 0, layers from 2e-5 cut into triangles by chance."""
    x = np.r_[-0.5 + 0.5 * (1 - stretched(16, 0.005)[::-1]), 2 * stretched(48, 2e-3)[1:]]
    return triangles(channel(x, lambda x: 0 * x, lambda x: 0 * x + 1, stretched(44, 1e-5)), seed=3), plate_sides


@mesh
def plateq():
    x = np.r_[-0.3 + 0.3 * (1 - stretched(12, 0.01)[::-1]), stretched(40, 3e-3)[1:]]
    return channel(x, lambda x: 0 * x, lambda x: 0 * x + 0.6, stretched(40, 2e-3)), plate_sides


def plate_sides(m, n):
    if abs(n[0]) > 0.9:
        return "inlet" if m[0] < 0 else "outlet"
    return "high" if m[1] > 0.3 else "symmetry" if m[0] < 0 else "wall"


# ---- Bodies of revolution ------------------------------------------------------------------------------------------------------------


def nose_grid(body, reach, rows, first):
    """From a body (x, r) from its nose on the axis backwards outward by reach(share of its length) along normals."""
    arc = np.r_[0, np.cumsum(np.linalg.norm(np.diff(body, axis=0), axis=1))]
    n = normals(body)
    n[0] = [-1, 0]
    outer = body + reach(arc / arc[-1])[:, None] * n
    outer[0, 1] = 0
    s = stretched(rows, first)
    points = body[:, None] + s[None, :, None] * (outer - body)[:, None]
    points[0, :, 1] = 0
    return grid(points)


def blunt_cone(angle, length, cells, radius=1.0):
    a = np.radians(angle)
    arc = radius * (np.pi / 2 - a)
    s = np.linspace(0, arc + length, cells + 1)
    t = np.minimum(s, arc) / radius
    x, r = radius * (1 - np.cos(t)), radius * np.sin(t)
    behind = np.maximum(s - arc, 0)
    return np.stack([x + behind * np.cos(a), r + behind * np.sin(a)], 1)


@mesh
def bcone():
    """A cone of 10 degrees with a round nose, a sector of 8 degrees of hexahedra and prisms, fine at the wall."""
    body, reach = blunt_cone(10, 4, 60), lambda s: 0.5 + 2.5 * s
    return revolved(nose_grid(body, reach, 44, 2e-4), np.radians([-4, 4])), nose_sides(body, 4)


@mesh
def bconei():
    """The same of 25 degrees without layers, two cells wide, jiggled lightly within the plane."""
    body, reach = blunt_cone(25, 2, 40), lambda s: 0.45 + 0.9 * s
    return revolved(jiggled(nose_grid(body, reach, 30, 0.02), 0.08, 5), np.radians([-5, 0, 5])), nose_sides(body, 5)


def nose_sides(body, half):
    """Names of the sides of a sector around a body: its wall, the outlet behind its last point, and the far field."""
    end, along = body[-1], (body[-1] - body[-2]) / np.linalg.norm(body[-1] - body[-2])

    def wall_or(x, r):
        p = np.array([x, r])
        if abs((p - end) @ along) < 0.01 and np.linalg.norm(p - end) > 1e-3:
            return "outlet"
        a, d = body[:-1], np.diff(body, axis=0)
        t = np.clip(((p - a) * d).sum(1) / (d * d).sum(1), 0, 1)
        return "wall" if np.linalg.norm(a + t[:, None] * d - p, axis=1).min() < 0.02 else "far"

    turned = sector(None, None, half)

    def name(m, n):
        side = turned(m, n)
        return wall_or(m[0], np.hypot(m[1], m[2])) if side == "wall" else side

    return name


@mesh
def spheresector():
    """A sphere of diameter 1 in a sector of 10 degrees, cells around it of unequal length, far field at 12."""
    angle = np.pi * (1 - uneven(48, 6, 0.4))
    points = 0.5 * np.exp(stretched(40, 0.008)[None, :, None] * np.log(24)) * np.stack([np.cos(angle), np.sin(angle)], 1)[:, None]
    points[0, :, 1] = points[-1, :, 1] = 0
    return revolved(grid(points), np.radians([-5, 0, 5])), sector(None, None, 5, lambda x, r: np.hypot(x, r) > 2)


@mesh
def flare():
    """A cylinder with a sharp ogive and a flare of 20 degrees, triangles in the plane, prisms in space."""
    x = np.r_[np.linspace(-0.6, 0, 13)[:-1], np.linspace(0, 6, 97)]

    def body(x):
        a = np.clip(x, 0, 2)
        return 0.125 * a * (4 - a) + np.maximum(0, x - 4.5) * np.tan(np.radians(20))

    soup = triangles(channel(x, body, lambda x: 0 * x + 4, stretched(40, 6e-3)), seed=9)
    return revolved(soup, np.radians([-4, 0, 4])), sector(-0.6, 6, 4, lambda x, r: r > 3.9)


# ---- In space ------------------------------------------------------------------------------------------------------------------------


@mesh
def brick():
    """A box of half a chord in a tunnel, of pyramids, hexahedra and tetrahedra without hanging nodes."""
    x = np.unique(np.r_[np.linspace(-3, -0.5, 9), np.linspace(-0.5, 0.5, 11), np.linspace(0.5, 4, 13)])
    y = np.unique(np.r_[np.linspace(0, 0.3, 6), 0.3 + 2.2 * stretched(9, 0.03)])
    z = y.copy()
    soup = grid(np.stack(np.meshgrid(x, y, z, indexing="ij"), -1))
    middle = soup.points[soup.cells[12]].mean(1)
    soup.cells[12] = soup.cells[12][~((np.abs(middle[:, 0]) < 0.5) & (middle[:, 1] < 0.3) & (middle[:, 2] < 0.3))]
    soup.tidy()

    def how(m):
        r = np.linalg.norm(m, axis=1)
        return np.where(r < 0.9, "pyramids", np.where(r < 2, "hexes", "tets"))

    def name(m, n):
        if m[0] < -3 + 1e-6:
            return "inlet"
        if m[0] > 4 - 1e-6:
            return "outlet"
        if abs(m[0]) < 0.51 and m[1] < 0.31 and m[2] < 0.31 and not (m[1] < 1e-9 or m[2] < 1e-9):
            return "wall"
        return "symmetry" if min(m[1], m[2]) < 1e-9 else "far"

    return split_hexes(soup, how), name


@mesh
def bump3():
    """A smooth bump on a floor, its hexahedra cut to tetrahedra and jiggled."""
    x, y, z = np.linspace(-1, 2, 37), np.linspace(0, 1, 9), stretched(16, 0.02)
    P = np.stack(np.meshgrid(x, y, z, indexing="ij"), -1)
    a = np.clip(P[..., 0], 0, 1)
    h = 0.08 * np.sin(np.pi * a) ** 2 * np.cos(np.pi * P[..., 1] / 2) ** 2
    P[..., 2] += h * (1 - P[..., 2])
    soup = split_hexes(grid(P), "tets")

    def name(m, n):
        if abs(n[0]) > 0.99:
            return "inlet" if m[0] < 0.5 else "outlet"
        return "symmetry" if abs(n[1]) > 0.99 else "high" if m[2] > 0.9 else "low"

    return jiggled(soup, 0.05, 8), name


@mesh
def cube():
    """Flow through nothing: the free stream in jiggled hexahedra, tetrahedra and pyramids."""
    t = np.linspace(0, 1, 11)
    soup = grid(np.stack(np.meshgrid(t, t, t, indexing="ij"), -1))
    how = np.random.default_rng(2).choice(["hexes", "pyramids", "tets"], 1000)
    return jiggled(split_hexes(soup, lambda m: how), 0.15, 1), lambda m, n: "far"
