"""Meshes of `further.py`, written point by point: bodies of revolution in sectors of all angles, moved, turned and scaled meshes, ducts."""

import numpy as np

from by_hand import blunt_cone, channel, disk, foil, joukowski, nose_grid, o_grid, plate_sides, sector
from kit import TAU, both_ends, extruded, grid, jiggled, joined, mesh, naca, revolved, stretched, triangles, uneven


def around(body, reach, rows, first, half, wedges, jiggle=0.0):
    """A body (x, r) in a sector of 2 `half` degrees, or the whole circle for 180; sides `left`, `right`, `wall`, `far`, `outlet`."""
    plane = nose_grid(body, reach, rows, first)
    if jiggle:
        plane = jiggled(plane, jiggle, 5)
    solid = revolved(plane, np.radians(np.linspace(-half, half, wedges + 1)))
    end, along = body[-1], (body[-1] - body[-2]) / np.linalg.norm(body[-1] - body[-2])
    a, d = body[:-1], np.diff(body, axis=0)
    turned = sector(None, None, half) if half < 180 else lambda m, n: "wall"

    def name(m, n):
        if turned(m, n) != "wall":
            return turned(m, n)
        p = np.array([m[0], np.hypot(m[1], m[2]) / np.cos(np.radians(half / wedges))])
        if abs((p - end) @ along) < 0.02 and np.linalg.norm(p - end) > 1e-3:
            return "outlet"
        t = np.clip(((p - a) * d).sum(1) / (d * d).sum(1), 0, 1)
        return "wall" if np.linalg.norm(a + t[:, None] * d - p, axis=1).min() < 0.03 else "far"

    return solid, name


def cone(angle, length, cells):
    """From its tip on the axis."""
    s = length * stretched(cells, 0.01)
    return np.stack([s * np.cos(np.radians(angle)), s * np.sin(np.radians(angle))], 1)


def ball(half, wedges, cells=40, rows=30, far=16.0):
    angle = np.pi * (1 - np.linspace(0, 1, cells + 1))
    points = 0.5 * np.exp(stretched(rows, 0.015)[None, :, None] * np.log(2 * far)) * np.stack([np.cos(angle), np.sin(angle)], 1)[:, None]
    points[0, :, 1] = points[-1, :, 1] = 0
    solid = revolved(grid(points), np.radians(np.linspace(-half, half, wedges + 1)))
    if half < 180:
        return solid, sector(None, None, half, lambda x, r: np.hypot(x, r) > 2)
    return solid, lambda m, n: "far" if np.linalg.norm(m) > 2 else "wall"


@mesh
def ball360():
    """A whole sphere around an axis: poles of 24 neighbors."""
    return ball(180, 24)


@mesh
def ball90():
    """A quarter of a sphere, between two planes at right angles."""
    return ball(45, 6)


@mesh
def ball180():
    return ball(90, 12)


@mesh
def ball5():
    return ball(2.5, 1, 64, 48)


@mesh
def ball40():
    """A sector of 40 degrees."""
    return ball(20, 4, 48, 36)


@mesh
def tip5():
    """A sharp cone of 15 degrees, a sector of 5."""
    return around(cone(15, 2, 60), lambda s: 0.15 + 0.6 * s, 36, 0.01, 2.5, 1)


@mesh
def tip90():
    """A sharp cone of 20 degrees, a quarter."""
    return around(cone(20, 1, 30), lambda s: 0.1 + 0.4 * s, 20, 0.02, 45, 10)


@mesh
def tip360():
    """A sharp cone of 20 degrees, whole."""
    return around(cone(20, 1, 24), lambda s: 0.15 + 0.7 * s, 16, 0.03, 180, 20)


@mesh
def nose360():
    """A round nose and a cone of 8 degrees, whole, for incidence."""
    return around(blunt_cone(8, 2, 28), lambda s: 0.5 + 1.6 * s, 20, 0.02, 180, 20)


@mesh
def nose20():
    """A round nose and a cone of 15 degrees, a sector of 20."""
    return around(blunt_cone(15, 2, 50), lambda s: 0.45 + 1.0 * s, 36, 0.01, 10, 2)


def moved(name, turn, scale, to):
    """The triangles around Joukowski's section turned by `turn` degrees, `scale` times as large and somewhere else."""
    c, s = np.cos(np.radians(turn)), np.sin(np.radians(turn))

    def made():
        points = joukowski(TAU * np.linspace(0, 1, 97), 1 + 80 * stretched(36, 5e-4))
        points[-1] = points[0]
        soup = triangles(grid(points).tidy(), seed=5)
        middle = np.array([0.5, 0.0])
        turned = (soup.points - middle) @ np.array([[c, s], [-s, c]])
        soup.points = scale * (turned + np.array(to))
        return soup, lambda m, n: foil(m / scale - np.array(to) + middle, n)

    made.__name__ = name
    mesh(made)


moved("jmm", 0, 1e-3, (0, 0))
moved("jkm", 0, 1e3, (0, 0))
moved("jfar", 0, 1, (1e4, -1e4))
moved("jturned", 30, 1, (0, 0))


def pipe(radius, x, cells=6, rows=7, first=0.04):
    """A round pipe of a radius of x."""
    solid = extruded(disk(1.0, cells, rows, first), np.asarray(x, float))
    r = radius(solid.points[:, 2])
    y, z, along = solid.points.T
    solid.points = np.stack([along, r * y, r * z], 1)
    ends = x[0], x[-1]
    return solid, lambda m, n: "inlet" if m[0] < ends[0] + 1e-6 else "outlet" if m[0] > ends[1] - 1e-6 else "wall"


def smooth(x, a, b):
    t = np.clip((x - a) / (b - a), 0, 1)
    return t * t * (3 - 2 * t)


@mesh
def throat():
    """A round nozzle of areas 1 : 0.49 : 0.81."""
    return pipe(lambda x: 0.5 * (1 - 0.3 * smooth(x, 0, 2) + 0.2 * smooth(x, 2, 4)), np.linspace(-0.5, 4.5, 51))


@mesh
def cone_diffuser():
    """A round diffuser of an area ratio of 2, fine at the wall."""
    return pipe(lambda x: 0.5 * (1 + 0.4142 * smooth(x, 0, 4)), np.linspace(-1, 7, 49), 6, 12, 5e-3)


@mesh
def wye():
    """A channel that a plate divides, of which both halves go their own ways: two outlets; or two inlets and one outlet, backwards."""
    x, y = np.linspace(-2, 0, 25), both_ends(24, 0.02) - 0.5
    parts = [np.stack(np.meshgrid(x, y, indexing="ij"), -1)]
    for sign in (1, -1):
        x = np.r_[0, 3 * stretched(48, 6e-3)[1:]]
        half = y[12:] if sign > 0 else y[:13]
        P = np.stack(np.meshgrid(x, half, indexing="ij"), -1)
        P[..., 1] += sign * 0.5 * smooth(P[..., 0], 0, 2.5)
        parts.append(P)

    def name(m, n):
        if m[0] < -2 + 1e-6:
            return "trunk"
        return ("upper" if m[1] > 0 else "lower") if m[0] > 3 - 1e-6 else "wall"

    return joined(*map(grid, parts)), name


@mesh
def annulus():
    """Between a turning cylinder and one at rest."""
    angle, r = TAU * uneven(48, 2, 0.5), 1 + both_ends(20, 0.02)
    P = r[None, :, None] * np.stack([np.cos(angle), np.sin(angle)], 1)[:, None]
    P[-1] = P[0]
    return grid(P).tidy(), lambda m, n: "hub" if np.hypot(*m) < 1.5 else "casing"


@mesh
def sharp():
    """A plate whose first cells are a millionth of their length high."""
    x = np.r_[-0.4 + 0.4 * (1 - stretched(16, 0.02)[::-1]), 2 * stretched(40, 0.01)[1:]]
    return channel(x, lambda x: 0 * x, lambda x: 0 * x + 1, stretched(64, 2e-8)), plate_sides


@mesh
def platel():
    """For laminar layers of high Reynolds numbers."""
    x = np.r_[-0.4 + 0.4 * (1 - stretched(16, 0.01)[::-1]), stretched(56, 2e-3)[1:]]
    return channel(x, lambda x: 0 * x, lambda x: 0 * x + 0.5, stretched(56, 4e-4)), plate_sides


@mesh
def bluntwing():
    """A straight wing of a section with a blunt trailing edge, hexahedra, its tip cut off: half of it."""
    section = naca("0015", 24, closed=False)
    plane = o_grid(np.concatenate([section, section[:1] * 0.5 + section[-1:] * 0.5, section[:1]])[::1], 8, 4e-3, 22)
    span = np.r_[1.5 * (1 - stretched(12, 0.03)[::-1])]
    solid = extruded(plane, span)
    solid.points = solid.points[:, [0, 2, 1]]
    return solid, lambda m, n: "sides" if abs(n[1]) > 0.9 else "far" if np.hypot(m[0] - 0.5, m[2]) > 4 else "wall"


@mesh
def row():
    """A row of lenses at 30 degrees to its front, pitch 0.7, triangles cut from quadrilaterals in half of it: periodic."""
    x = np.r_[-1 + uneven(20, 1)[:-1], uneven(40, 2, 0.3)[:-1], 1 + 1.2 * uneven(24, 3)]
    t = np.where((x > 0) & (x < 1), 0.06 * 4 * x * (1 - x), 0.0)
    mean = np.tan(np.radians(30)) * np.clip(x, 0, 1) * (1 - 0.5 * np.clip(x, 0, 1))
    eta = both_ends(26, 0.012)
    low, high = mean + t, mean + 0.7 - t
    P = np.stack([np.broadcast_to(x[:, None], (len(x), len(eta))), low[:, None] + (high - low)[:, None] * eta], -1)

    def name(m, n):
        if m[0] < -1 + 1e-9 or m[0] > 2.2 - 1e-9:
            return "inlet" if m[0] < 0 else "outlet"
        upper = m[1] > np.interp(m[0], x, mean) + 0.35
        return "blade" if 0 < m[0] < 1 else "high" if upper else "low"

    return grid(P), name


@mesh
def swept():
    """A corner of a plate that leans back over a floor: hexahedra below, prisms above."""
    x, y = np.linspace(-0.5, 2, 41), 1.5 * stretched(26, 0.01)
    plane = triangles(channel(x, lambda x: 0 * x, lambda x: 0 * x + 1.5, stretched(24, 0.01)), where=lambda m: m[:, 1] > 0.4)
    solid = extruded(plane, y)
    X, Y, Z = solid.points.T
    lean = np.maximum(0, X - 0.4 * Z) * np.tan(np.radians(9))
    solid.points = np.stack([X, lean + Z * (1 - lean / 1.5), Y], 1)

    def name(m, n):
        if m[0] < -0.5 + 1e-6:
            return "inlet"
        if m[0] > 2 - 1e-6:
            return "outlet"
        return "floor" if m[2] < 1e-6 else "top" if m[2] > 1.5 - 1e-6 or abs(m[1] - 1.5) < 0.6 and n[1] ** 2 > 0.5 and m[1] > 0.9 else "wall"

    return solid, name
