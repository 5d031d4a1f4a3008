"""Meshes of `others.py` by Triangle (PyPI: meshpy), Shewchuk's: constrained Delaunay triangles, with layers of quadrilaterals or triangles
about bodies that are made here."""

import numpy as np
from meshpy import triangle

from kit import TRIANGLE, Soup, grid, joined, mesh, naca, normals, rings, stretched, triangles


def filled(loops, holes, size, least_angle=28):
    """Triangles within closed loops [n, 2] (first point not repeated), none in `holes`; size(middle) bounds their area. Points stay on loops."""
    points, segments = [], []
    for loop in loops:
        at = len(points)
        points += [tuple(p) for p in loop]
        segments += [(at + k, at + (k + 1) % len(loop)) for k in range(len(loop))]
    info = triangle.MeshInfo()
    info.set_points(points)
    info.set_facets(segments)
    if holes:
        info.set_holes(holes)

    def too_large(corners, area):
        return area > size(np.mean([[c[0], c[1]] for c in corners], axis=0))

    made = triangle.build(info, refinement_func=too_large, min_angle=least_angle, allow_boundary_steiner=False)
    return Soup(np.array(made.points), {TRIANGLE: np.array(made.elements)})


def circle(radius, n, center=(0, 0), from_=0.0):
    a = 2 * np.pi * (np.arange(n) + from_) / n
    return np.array(center) + radius * np.stack([np.cos(a), np.sin(a)], 1)


def growing(bodies, near, rate, most=np.inf):
    """Area of triangles whose edges grow with the distance from bodies, [n, 2] each."""
    all_ = np.concatenate(bodies)

    def size(m):
        return 0.5 * min(near + rate * np.hypot(*(all_ - m).T).min(), most) ** 2

    return size


def around(names, reach=3.0):
    """Names of the sides by the body that is nearest: {name: points [n, 2]}; far beyond `reach` from all."""

    def name(m, n):
        d = {key: np.hypot(*(body - m).T).min() for key, body in names.items()}
        nearest = min(d, key=d.get)
        return nearest if d[nearest] < reach else "far"

    return name


def moved(section, chord, degrees, at):
    a = np.radians(degrees)
    return chord * section @ np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]) + at


def layered(body, first, ratio, layers):
    """A ring of quadrilaterals about a closed body (first point repeated), and its outer line; at sharp ends its normal is that of both sides."""
    heights = first * np.cumsum(np.r_[0, ratio ** np.arange(layers)])
    n = normals(body)
    edge = np.diff(body, axis=0)
    edge /= np.linalg.norm(edge, axis=1, keepdims=True)
    left = np.stack([-edge[:, 1], edge[:, 0]], 1)
    both = np.stack([left, np.roll(left, 1, 0)])
    n[:-1] = both.sum(0) / np.linalg.norm(both.sum(0), axis=1, keepdims=True)
    n[-1] = n[0]
    points = body[:, None] + heights[None, :, None] * n[:, None]
    return grid(points), points[:-1, -1]


@mesh
def side():
    """Two cylinders side by side, two and a half diameters apart."""
    bodies = {"upper": circle(0.5, 56, (0, 1.25)), "lower": circle(0.5, 56, (0, -1.25), 0.5)}
    return filled([circle(25, 36), *bodies.values()], [(0, 1.25), (0, -1.25)], growing(list(bodies.values()), 0.05, 0.2)), around(bodies, 5)


@mesh
def tandem():
    """A small cylinder behind a square one turned by 30 degrees."""
    t = np.linspace(-0.5, 0.5, 13)[:-1]
    square = np.concatenate([np.c_[t, 0 * t - 0.5], np.c_[0 * t + 0.5, t], np.c_[-t, 0 * t + 0.5], np.c_[0 * t - 0.5, -t]])
    bodies = {"square": moved(square, 1, 30, [0, 0]), "small": circle(0.2, 30, (2.2, 0.3))}
    return filled([circle(20, 30), *bodies.values()], [(0, 0), (2.2, 0.3)], growing(list(bodies.values()), 0.045, 0.18)), around(bodies, 5)


@mesh
def three():
    """Three sections above each other, of other chords and angles, coarse."""
    parts = [("2412", 1, -2, (0, 0)), ("0012", 0.5, 5, (0.6, 0.4)), ("4415", 0.7, 0, (-0.3, -0.5))]
    bodies = {f"foil{k}": moved(naca(code, 24)[:-1], c, a, np.array(at)) for k, (code, c, a, at) in enumerate(parts)}
    holes = [tuple(moved(np.array([[0.3, 0.01]]), c, a, np.array(at))[0]) for _, c, a, at in parts]
    return filled([circle(12, 30, (0.5, 0)), *bodies.values()], holes, growing(list(bodies.values()), 0.012, 0.2)), around(bodies)


@mesh
def hybrid():
    """NACA 3412 with layers of quadrilaterals from 2e-5, triangles beyond."""
    body = naca("3412", 70)
    ring, rim = layered(body, 2e-5, 1.28, 24)
    outer = filled([circle(15, 30, (0.5, 0)), rim], [(0.3, 0.03)], growing([rim], 0.02, 0.22))
    return joined(ring, outer), around({"wall": body})


@mesh
def hybridt():
    """NACA 0018, blunt behind, layers from 1e-4 cut into triangles."""
    body = naca("0018", 44, False)
    base = body[-1] + np.linspace(0, 1, 6)[1:, None] * (body[0] - body[-1])
    body = np.concatenate([body, base])
    ring, rim = layered(body, 1e-4, 1.35, 14)
    outer = filled([circle(12, 30, (0.5, 0)), rim], [(0.3, 0.0)], growing([rim], 0.03, 0.25))
    return joined(triangles(ring, seed=6), outer), around({"wall": body})


@mesh
def cylh():
    """A cylinder with layers of quadrilaterals from 1e-3 diameters."""
    body = np.r_[circle(0.5, 80), circle(0.5, 80)[:1]][::-1]
    ring, rim = layered(body, 1e-3, 1.25, 16)
    outer = filled([circle(20, 30), rim], [(0, 0)], growing([rim], 0.04, 0.15))
    return joined(ring, outer), around({"wall": body})


@mesh
def tee():
    """A T-junction: a channel of height 1, a branch of width 0.8 upward at x = 0."""
    corners = [(-4, 0), (6, 0), (6, 1), (0.8, 1), (0.8, 4), (0, 4), (0, 1), (-4, 1)]
    loop = line(corners, 0.06)

    def name(m, n):
        return "inlet" if m[0] < -4 + 1e-6 else "outlet" if m[0] > 6 - 1e-6 else "branch" if m[1] > 4 - 1e-6 else "wall"

    return filled([loop], [], lambda m: 0.5 * 0.06**2), name


def line(corners, size):
    """A closed polygon with points every `size`, about."""
    points = []
    for a, b in zip(np.array(corners, float), np.roll(np.array(corners, float), -1, 0)):
        n = max(1, round(np.linalg.norm(b - a) / size))
        points += [a + (b - a) * k / n for k in range(n)]
    return np.array(points)


@mesh
def double():
    """A double wedge inlet, 7 and 14 degrees, under a cowl plate without thickness above its shoulder: an isolator."""
    t7, t14 = np.tan(np.radians([7, 14]))
    y1 = 0.8 * t7
    y2 = y1 + 0.7 * t14
    corners = [
        (-0.3, 0),
        (0, 0),
        (0.8, y1),
        (1.5, y2),
        (2.6, y2),
        (2.6, y2 + 0.3),
        (1.55, y2 + 0.3),
        (1.5, y2 + 0.33),
        (1.4, 1.6),
        (-0.3, 1.0),
    ]

    def name(m, n):
        if m[0] > 2.6 - 1e-6:
            return "outlet"
        if m[0] < -0.3 + 1e-6:
            return "inlet"
        x, y = m
        ramp = np.interp(x, [-0.3, 0, 0.8, 1.5, 2.6], [0, 0, y1, y2, y2])
        if y < ramp + 1e-6:
            return "wall"
        return "cowl" if x > 1.5 + 1e-6 and abs(n[1]) > 0.5 else "top"

    return filled([line(corners, 0.025)], [], lambda m: 0.5 * 0.025**2), name


@mesh
def bumpt():
    """Triangles of even size over a bump of a circle's arc, ten per cent high."""
    x = np.linspace(0, 1, 33)[1:-1]
    r = (0.25 + 0.1**2) / 0.2
    arc = np.c_[x, np.sqrt(r * r - (x - 0.5) ** 2) - (r - 0.1)]
    left, right = line([(-1.5, 0), (0, 0)], 0.05)[:31], line([(1, 0), (2.5, 0)], 0.05)[:31]
    rest = line([(2.5, 0), (2.5, 1), (-1.5, 1), (-1.5, 0)], 0.07)
    rest = rest[: len(rest) - round(4 / 0.07)]
    loop = np.concatenate([left, arc, right, rest[1:]])

    def name(m, n):
        return "inlet" if m[0] < -1.5 + 1e-6 else "outlet" if m[0] > 2.5 - 1e-6 else "high" if m[1] > 1 - 1e-6 else "low"

    return filled([loop], [], growing([arc], 0.03, 0.06)), name


@mesh
def wedget():
    """Triangles of even size before a body of a round nose, 1 across, for supersonic flow; the far field is close."""
    a = np.linspace(np.pi / 2, 3 * np.pi / 2, 45)
    body = np.concatenate([np.c_[0.5 * np.cos(a), 0.5 * np.sin(a)], np.c_[np.linspace(0, 1.2, 24)[1:], np.full(23, -0.5)]])
    b = a[::-1]
    top = np.c_[np.linspace(1.2, 0, 24)[1:-1], np.full(22, 0.5)]
    sides = round(1.7 / 0.06) + round(np.hypot(1.2, 0.8) / 0.06)
    low = line([(1.2, -0.5), (1.2, -2.2), (0, -1.4)], 0.06)[:sides]
    outer = np.concatenate([low, np.c_[np.cos(b), 1.4 * np.sin(b)]])
    up = line([(0, 1.4), (1.2, 2.2), (1.2, 0.5)], 0.06)
    up = up[1 : sides + 1]
    loop = np.concatenate([body[:-1], outer, up, top])

    def name(m, n):
        if m[0] > 1.2 - 1e-6:
            return "outlet"
        return "wall" if np.hypot(*m) < 0.51 or (m[0] > 0 and abs(m[1]) < 0.51) else "far"

    return filled([loop], [], growing([body], 0.04, 0.03, 0.06)), name
