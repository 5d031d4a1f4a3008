#!/usr/bin/env python3
"""Viscous flows with default settings on meshes with layers, drawn at random: bodies, wings, cones, pipes, bumps and corners in space, of prisms and hexahedra
with pyramids and tetrahedra beyond; planar noses, ramps, wedges, plates, sections and nozzles at supersonic and hypersonic speed; where a steady flow may be expected.

    pip install gmsh numpy
    SEED=1 COUNT=60 python3 random_layers.py FOLDER [--program chromaflow] [--jobs 16] [--limit 120] [--only WORD] [KEY=VALUE...]

As `random_shapes.py`, from which it has its numbers. First cells are about a y+ of one high. What theory knows stands in the last column.
"""

from math import ceil, cos, log, pi, radians, sin, sqrt, tan

import gmsh
import numpy as np

import kit
import random_shapes
import survey
from kit import HEX, LINE, PRISM, PYRAMID, QUAD, TET, TRIANGLE, Soup, grid, split_hexes, triangles
from meshes import (
    camber4,
    discrete,
    disk,
    extruded,
    in_far_field,
    layer,
    loft,
    mark,
    occ_section,
    prism_body,
    round_face,
    section,
    section_curves,
    sizes,
    surface_triangles,
    under_prisms,
)
from random_shapes import FOIL, HALF, wall_spacing
from survey import back, blown, total

GMSH = {LINE: 1, TRIANGLE: 2, QUAD: 3, TET: 4, HEX: 5, PRISM: 6, PYRAMID: 7}
SPEED = {"inlet": "farfield", "outlet": "extrapolation"}
RANS = ("sa-neg", "sst", "k-omega")


class Draw(random_shapes.Draw):
    def viscous(self, laminar, turbulent):
        """Model, Reynolds number over a length of 1, height of the first cells, their growth, and the height of layers."""
        kind, growth = self.one("laminar", *RANS), self.between(1.15, 1.35)
        if kind == "laminar":
            reynolds = self.scaled(*laminar)
            return kind, reynolds, self.between(0.05, 0.2) / sqrt(reynolds), growth, min(6 / sqrt(reynolds), 0.3)
        reynolds = self.scaled(*turbulent)
        return kind, reynolds, wall_spacing(reynolds, self.scaled(0.5, 1.5)), growth, 0.5 / reynolds**0.2

    def wall(self, mach):
        """Adiabatic, or of a temperature between the stream's and that of its stagnation."""
        if self.one(True, False):
            return "body"
        return f'{{ kind = "no_slip", temperature = {self.between(1, 1 + 0.15 * mach**2):.3f} }}'

    def planar(self, soup, layered):
        """Quadrilaterals, or triangles cut from them: all, or those that are not in layers."""
        kind = self.one("quads", "triangles", "chance", "mixed")
        if kind == "quads":
            return soup
        return triangles(soup, self.one(3, 5) if kind == "chance" else None, (lambda m: ~layered(m)) if kind == "mixed" else None)

    def solid(self, soup, layered):
        """Hexahedra, or tetrahedra beyond the layers with pyramids between."""
        if self.one(True, False):
            return soup
        return split_hexes(soup, lambda middles: np.where(layered(middles), "hexes", "tets"))


def rows(first, growth, height):
    """Places from 0 to 1 of cells from `first` that grow by about so much."""
    return kit.stretched(ceil(log(1 + height * (growth - 1) / first) / log(growth)), first / height)


def to_gmsh(soup, name):
    """The mesh as Gmsh's, its sides named by name(middle, normal)."""
    groups = {}
    for marker, sides in soup.markers(name).items():
        for kind, side in sides:
            groups.setdefault(marker, {}).setdefault(GMSH[kind], []).append(side)
    discrete(soup.points, soup.dim, {GMSH[kind]: cells for kind, cells in soup.cells.items()}, groups)


def away(points, curve):
    """Distances of points from a curve of pieces."""
    a, d = curve[:-1], np.diff(curve, axis=0)
    p = np.atleast_2d(points)[:, None]
    t = np.clip(((p - a) * d).sum(2) / (d * d).sum(1), 0, 1)
    return np.linalg.norm(a + t[..., None] * d - p, axis=2).min(1)


# ---- Planar, at supersonic speed -----------------------------------------------------------------------------------------------------


def blunt(draw):
    """A blunt nose."""
    mach = round(draw.scaled(2, 10), 2)
    kind, reynolds, first, growth, thick = draw.viscous((1e3, 1e5), (1e5, 5e6))
    angle = np.linspace(-0.5, 0.5, draw.one(40, 50) + 1) * pi
    long, off = draw.between(0.6, 2), draw.between(1.4, 2) * (1 + 2 / (mach - 0.8))
    body = np.stack([-long * np.cos(angle), np.sin(angle)], 1)
    outer = np.stack([-(long + off * 0.6) * np.cos(angle), (1 + off) * np.sin(angle)], 1)
    s = rows(first, growth, 0.6 * off)
    points = body[:, None] + s[None, :, None] * (outer - body)[:, None]

    def name(m, n):
        if abs(m[0]) < 1e-9:
            return "outlet"
        return "wall" if away(m, body)[0] < 0.1 else "far"

    to_gmsh(draw.planar(grid(points), lambda m: away(m, body) < thick), name)
    sides = {"wall": draw.wall(mach), "far": "farfield", "outlet": "extrapolation"}
    return kind, mach, sides, {"alpha": draw.one(0.0, round(draw.between(-5, 5), 2)), "re": round(reynolds)}


def ramps(draw):
    """A plate and a ramp, two ramps, or a ramp and a corner to expand around."""
    mach = round(draw.scaled(1.8, 8), 2)
    kind, reynolds, first, growth, thick = draw.viscous((1e4, 2e5), (2e5, 5e6))
    most = 9 if kind == "laminar" else 18
    slopes = draw.one((0, draw.between(3, most)), (draw.between(3, 12), draw.between(13, 13 + most / 2)), (draw.between(4, 15), 0))
    ahead = draw.one(True, False)
    x = np.r_[np.linspace(-0.15, 0, 9)[:-1] if ahead else [], np.linspace(0, 1.8, draw.one(50, 70))]
    y = np.where(x < 0, 0, np.minimum(x, 1) * tan(radians(slopes[0])) + np.maximum(x - 1, 0) * tan(radians(slopes[1])))
    top = 0.7 + y.max()
    s = rows(first, growth, top)
    points = np.stack([np.broadcast_to(x[:, None], (len(x), len(s))), y[:, None] + (top - y)[:, None] * s], -1)
    wall = np.stack([x, y], 1)

    def name(m, n):
        if abs(n[0]) > 0.999999 and (m[0] < x[0] + 1e-9 or m[0] > x[-1] - 1e-9):
            return "inlet" if m[0] < 0.5 else "outlet"
        return "far" if m[1] > top - 1e-9 else "symmetry" if m[0] < 0 else "wall"

    to_gmsh(draw.planar(grid(points), lambda m: away(m, wall) < thick), name)
    sides = {"wall": draw.wall(mach), "far": "farfield", **SPEED, **({"symmetry": "symmetry"} if ahead else {})}
    return kind, mach, sides, {"re": round(reynolds)}


def plate(draw):
    """A plate at any speed, to which theory has a friction."""
    fast = draw.one(True, False)
    mach = round(draw.scaled(1.4, 10) if fast else draw.scaled(0.1, 0.8), 3)
    kind, reynolds, first, growth, thick = draw.viscous((1e4, 5e5), (5e5, 2e7))
    x = np.r_[-0.3 * kit.stretched(12, 0.05)[:0:-1], kit.stretched(draw.one(30, 45), 0.012)]
    top = draw.between(0.3, 0.8)
    s = rows(first, growth, top)
    points = np.stack(np.meshgrid(x, top * s, indexing="ij"), -1)

    def name(m, n):
        if abs(n[0]) > 0.5 and (m[0] < x[0] + 1e-9 or m[0] > x[-1] - 1e-9):
            return "inlet" if m[0] < 0 else "outlet"
        return "far" if m[1] > top / 2 else "symmetry" if m[0] < 0 else "wall"

    to_gmsh(draw.planar(grid(points), lambda m: m[:, 1] < thick), name)
    ends = SPEED if fast else {"inlet": total(mach), "outlet": back()}
    # Blasius, and a seventh-power law; neither knows of warm layers.
    exact = 1.328 / sqrt(reynolds) if kind == "laminar" else 0.031 / reynolds ** (1 / 7)
    return kind, mach, {"wall": "body", "symmetry": "symmetry", "far": "farfield", **ends}, {"re": round(reynolds), "exact": f"cd {exact:.6f} (slow)"}


def nozzle2(draw):
    """Half of a nozzle from subsonic to supersonic flow, its boundary layer from the inlet."""
    kind, reynolds, first, growth, thick = draw.viscous((1e3, 2e4), (1e5, 2e6))
    ratio, wide, long = draw.between(1.5, 3), draw.between(1.2, 4), draw.between(3, 5)
    x = np.r_[np.linspace(-1.5, 1, 31)[:-1], np.linspace(1, 1 + long, 40)]
    bell = 1 + (wide - 1) * (0.5 - 0.5 * np.cos(pi * np.clip((x - 1) / long, 0, 1)))
    height = np.where(x < 1, 1 + (ratio - 1) * (0.5 + 0.5 * np.cos(pi * np.clip(x, 0, 1))), bell)
    s = rows(first, growth, 1)
    points = np.stack([np.broadcast_to(x[:, None], (len(x), len(s))), height[:, None] * (1 - s)], -1)
    wall = np.stack([x, height], 1)

    def name(m, n):
        if abs(n[0]) > 0.999999 and (m[0] < x[0] + 1e-9 or m[0] > x[-1] - 1e-9):
            return "inlet" if m[0] < 0 else "outlet"
        return "symmetry" if m[1] < 1e-9 else "wall"

    to_gmsh(draw.planar(grid(points), lambda m: away(m, wall) < thick), name)
    # The Mach number before a throat of this part of the area.
    mach = min(np.linspace(0.05, 1, 2000), key=lambda m: abs(((1 + 0.2 * m * m) / 1.2) ** 3 / m - ratio))
    return kind, round(float(mach), 3), {"wall": "body", "symmetry": "symmetry", "inlet": total(mach), "outlet": "extrapolation"}, {"re": round(reynolds)}


def lens(draw):
    """A biconvex section or a diamond with layers."""
    mach = round(draw.scaled(1.4, 6), 2)
    kind, reynolds, first, growth, thick = draw.viscous((1e3, 1e5), (2e5, 1e7))
    x, t = np.linspace(0, 1, 41), draw.between(0.06, 0.14)
    y = draw.one(t * 2 * x * (1 - x), 0.5 * t * np.minimum(x / 0.5, (1 - x) / 0.5))
    sides = np.stack([x, y], 1)[::-1], np.stack([x, -y], 1)
    curves, edges, nose = section_curves(sides)
    far = draw.between(4, 12)
    in_far_field([curves], far)
    mark(1, "wall", curves)
    draw.cells(curves, [*edges, nose], far, draw.between(0.018, 0.03))
    layer(curves, [*edges, nose], first, growth, min(thick, 0.12), draw.one(True, True, False), fan_cells=draw.one(5, 9))
    return kind, mach, {"wall": draw.wall(mach), "far": "farfield"}, {"alpha": draw.one(0.0, round(draw.between(-4, 4), 2)), "re": round(reynolds)}


# ---- In space ------------------------------------------------------------------------------------------------------------------------


def turned(points, parts, share):
    """A grid (x, r) from the axis outward, [i, j, 2], about x in so many parts of an angle in degrees."""
    angles = np.radians(np.linspace(-share / 2, share / 2, parts + 1))
    return kit.revolved(grid(points), angles)


def turned_sides(body, outer, share, parts, closed):
    """Names of the sides of such a mesh: planes, body, far field, and the outlet behind the body's last point."""
    half, step = radians(share / 2), cos(radians(share / parts / 2))
    end, along = body[-1], (body[-1] - body[-2]) / np.linalg.norm(body[-1] - body[-2])

    def name(m, n):
        r = np.hypot(m[1], m[2])
        if any(abs(n @ [0, sin(half), -c * cos(half)]) > 0.99999 and c * m[2] > 0 for c in (1, -1)):
            return "symmetry"
        p = np.array([m[0], r / step])
        inward = (n[1] * m[1] + n[2] * m[2]) / max(r, 1e-300)
        if not closed and abs(n[0] * along[0] + inward * along[1]) > 0.9 and abs((p - end) @ along) < 0.05 * np.ptp(body):
            return "outlet"
        return "wall" if away(p, body)[0] < away(p, outer)[0] else "far"

    return name


def cone(draw):
    """A sharp or blunt cone or a capsule's shield: a sector, a quarter or a half of it."""
    fast = round(draw.scaled(1.5, 8), 2)
    kind, reynolds, first, growth, thick = draw.viscous((1e3, 2e5), (2e5, 1e7))
    # Behind the shock of a cone, somewhat below the angle from which it is detached, the flow leaves faster than sound.
    angle = min(draw.one(draw.between(5, 25), draw.between(10, 55)), 57 - 60 / fast**1.6)
    # Where a shock of a sharp cone is detached there is no tip.
    sharp = angle < 20 and fast > 2 and draw.one(True, False)
    share = draw.one(draw.between(4, 12), draw.between(4, 12), 90, 180)
    parts = draw.one(1, 2) if share < 90 else round(share / 18)
    a, n = radians(angle), draw.one(32, 40)
    if sharp:
        s = np.r_[0, np.cumsum(np.linspace(1, 2, n))]
        s = 1.5 * s / s[-1]
        body = np.stack([s * cos(a), s * sin(a)], 1)
        outer = body + (0.12 + 0.6 * s)[:, None] * [-sin(a), cos(a)]
        outer[:, 0] -= 0.25 * (1 - s / s[-1])
        outer[0] = [-0.35, 0]
    else:
        radius, arc = draw.between(0.3, 1), 0.5 * pi - a
        s = np.linspace(0, arc + draw.between(0.8, 2), n + 1)
        t, behind = np.minimum(s, arc), np.maximum(s - arc, 0)
        body = radius * np.stack([1 - np.cos(t) + behind * cos(a), np.sin(t) + behind * sin(a)], 1)
        normal = np.stack([-np.cos(t), np.sin(t)], 1)
        off = 0.35 + 1 / (fast - 0.5) + (0.3 if angle < 30 else 0.9) * s
        outer = body + (radius * off)[:, None] * normal
        outer[0, 1] = 0
    height = np.linalg.norm(outer - body, axis=1).mean()
    points = body[:, None] + rows(first, growth, height)[None, :, None] * (outer - body)[:, None]
    points[0, :, 1] = 0
    soup = turned(points, parts, share)
    if share >= 90:
        soup = draw.solid(soup, lambda m: away(np.c_[m[:, 0], np.hypot(m[:, 1], m[:, 2])], body) < 2 * thick)
    to_gmsh(soup, turned_sides(body, outer, share, parts, False))
    base = body[-1, 1] ** 2 * parts * sin(radians(share / parts)) / 2
    alpha = round(draw.between(0, 8), 2) if share == 180 and draw.one(True, False) else 0.0
    more = {"area": round(base, 8), "exact": f"{angle:.2f} degrees{', sharp' if sharp else ''}"}
    return kind, fast, {"wall": draw.wall(fast), "far": "farfield", "outlet": "extrapolation", "symmetry": "symmetry"}, {
        "alpha": alpha,
        "re": round(reynolds),
        "lift": "z",
        **more,
    }


def cigar(draw):
    """A body of revolution with a round or pointed nose and a slender rear in a mesh around it."""
    mach = draw.one(round(draw.scaled(0.1, 0.85), 3), round(draw.scaled(1.3, 4), 3))
    kind, reynolds, first, growth, thick = draw.viscous((20, 2000), (1e5, 1e7))
    n = draw.one(36, 44)
    x, long = 0.5 - 0.5 * np.cos(np.linspace(0, pi, n + 1)), draw.between(4, 8)
    radius = x ** draw.one(0.5, 0.75) * (1 - x) ** draw.one(0.5, 0.75, 1.0)
    body = np.stack([x, 0.5 * radius / radius.max() / long], 1)
    body[[0, -1], 1] = 0
    far = draw.between(3, 6) if mach > 1 else draw.between(6, 20)
    phi = np.linspace(pi, 0, n + 1)
    outer = np.stack([0.5 + far * np.cos(phi), far * np.sin(phi)], 1)
    points = kit.rings(body, outer, rows(first, growth, far), sharp=8)
    points[[0, -1], :, 1] = 0
    share = draw.one(10.0, 90, 180)
    parts = round(share / 18) if share > 10 else 1
    soup = turned(points, parts, share)
    if share > 10:
        soup = draw.solid(soup, lambda m: away(np.c_[m[:, 0], np.hypot(m[:, 1], m[:, 2])], body) < 2 * thick)
    to_gmsh(soup, turned_sides(body, outer, share, parts, True))
    alpha = round(draw.between(0, 5), 2) if share == 180 else 0.0
    area = body[:, 1].max() ** 2 * parts * sin(radians(share / parts)) / 2
    return kind, mach, HALF, {"alpha": alpha, "re": round(reynolds), "lift": "z", "area": round(area, 8)}


def spheroid(draw):
    """A whole ellipsoid under prisms, tetrahedra beyond; its length is 2.5 to 6 diameters."""
    mach = draw.one(round(draw.scaled(0.1, 0.8), 3), round(draw.scaled(1.3, 3), 3))
    kind, reynolds, first, growth, thick = draw.viscous((20, 2000), (1e5, 1e7))
    long, size = draw.between(2.5, 6), draw.between(0.11, 0.15)
    first, size_last = first * long, 0.5 * size
    layers = min(ceil(log(size_last / first) / log(growth)), 30)
    prism_body(first, growth, max(layers, 4), size, 3.0, draw.between(6, 12), (long, 1, draw.between(0.7, 1)))
    return kind, mach, FOIL, {"alpha": draw.one(0.0, round(draw.between(0, 6), 2)), "re": round(reynolds), "length": round(long, 3), "lift": "z"}


def wings(draw):
    """A whole wing with two tips under prisms, tetrahedra beyond."""
    mach = draw.one(round(draw.scaled(0.1, 0.75), 3), round(draw.scaled(1.4, 3), 3))
    kind, reynolds, first, growth, _ = draw.viscous((50, 3000), (2e5, 8e6))
    t, half, sweep, taper = draw.between(0.1, 0.15), draw.between(0.6, 1), draw.between(0, 25), draw.between(0.5, 1)
    sides = section(camber4(draw.one(0, 0.02), 0.4), t, gap=draw.one(None, 0.012), points=31)
    wires = [occ_section(sides, taper if y else 1, (abs(y) * tan(radians(sweep)), y, 0)) for y in (-half, 0, half)]
    loft(wires)
    gmsh.model.occ.synchronize()
    size = draw.between(0.08, 0.1)
    for key, value in (("MeshSizeMax", size), ("MeshSizeMin", size / 3), ("MeshSizeFromCurvature", 8)):
        gmsh.option.setNumber(f"Mesh.{key}", value)
    gmsh.model.mesh.generate(2)
    points, tri = surface_triangles()
    points = points - [0.5, 0, 0]
    p = points[tri]
    if np.einsum("ij,ij->", np.cross(p[:, 0], p[:, 1]), p[:, 2]) < 0:
        tri = tri[:, ::-1]
        p = points[tri]
    area = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
    area /= np.linalg.norm(area, axis=1)[:, None]
    # By the angles of the triangles at a point, so that how a side is cut does not turn it.
    normal = np.zeros_like(points)
    for k in range(3):
        u, v = p[:, (k + 1) % 3] - p[:, k], p[:, k - 1] - p[:, k]
        bend = np.arccos(np.clip((u * v).sum(1) / np.linalg.norm(u, axis=1) / np.linalg.norm(v, axis=1), -1, 1))
        np.add.at(normal, tri[:, k], bend[:, None] * area)
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    growth = max(growth, 1.25)
    layers = min(ceil(log(0.4 * size / first) / log(growth)), 26)
    at = np.r_[0, np.cumsum(first * growth ** np.arange(max(layers, 3)))]
    far = draw.between(6, 10)
    under_prisms(points + at[:, None, None] * normal, tri, f"{size} + 0.22*Sqrt(x*x+0.1*y*y+z*z)", far)
    return kind, mach, FOIL, {"alpha": round(draw.between(0, 4), 2), "re": round(reynolds), "lift": "z", "area": round(half * (1 + taper), 4)}


def pipe(draw):
    """A straight pipe, an elbow, a diffuser or a venturi of round section: hexahedra, or prisms with hexahedra at the wall."""
    kind, reynolds, first, growth, _ = draw.viscous((50, 800), (2e4, 5e5))
    mach = round(draw.scaled(0.1, 0.35), 3)
    if draw.one(True, False):
        growth = max(growth, 1.2)
        disk(draw.one(3, 4, 5), min(2 * first, 0.02), ceil(log(1 + 0.45 * (growth - 1) / min(2 * first, 0.02)) / log(growth)))
    else:
        curves = round_face()
        sizes([(1, curves, 0.25, 0.25, 0.7)])
        layer(curves, [], min(2 * first, 0.05), max(growth, 1.2), 0.3, True)
        gmsh.model.mesh.generate(2)
    shape = draw.one("straight", "elbow", "elbow", "diffuser", "venturi")
    bend, radius, ahead, behind = radians(draw.between(30, 90)) * (shape == "elbow"), draw.between(1.2, 3), draw.between(1, 2), draw.between(3, 5)
    arc = radius * bend if shape == "elbow" else 2.0
    s = np.r_[np.linspace(-ahead, 0, 8)[:-1], np.linspace(0, arc, 11)[:-1], arc + behind * kit.stretched(9, 0.06)]
    t = np.clip(s / arc, 0, 1)
    wide = 0.5 + {"diffuser": draw.between(0.03, 0.12) * (0.5 - 0.5 * np.cos(pi * t)), "venturi": -draw.between(0.05, 0.12) * np.sin(pi * t) ** 2}.get(
        shape, 0 * t
    )

    def place(k, n):
        q = t[k] * bend
        along, across = np.array([cos(q), 0, sin(q)]), np.array([-sin(q), 0, cos(q)])
        center = radius * np.array([sin(q), 0, 1 - cos(q)]) + along * (s[k] - radius * q)
        return center + wide[k] * (n[:, :1] * np.array([0, 1, 0]) + n[:, 1:2] * across)

    extruded(len(s) - 1, ("inlet", "outlet"), place)
    inlet = blown(mach) if kind == "laminar" and draw.one(True, False) else total(mach)
    return kind, mach, {"wall": "body", "inlet": inlet, "outlet": back()}, {"re": round(reynolds), "exact": shape, "area": 0.785398}


def block(draw, walls):
    """A block over a plate, with a bump or a ramp, or along a corner of two walls."""
    fast = draw.one(True, False)
    mach = round(draw.scaled(1.3, 4) if fast else draw.scaled(0.1, 0.8), 3)
    kind, reynolds, first, growth, thick = draw.viscous((1e3, 1e5), (1e5, 1e7))
    x = np.r_[np.linspace(-0.4, 0, 7)[:-1], np.linspace(0, 1.6, draw.one(16, 20) if walls == 2 else draw.one(22, 28))]
    top, deep = draw.between(0.6, 1), draw.between(0.5, 0.9)
    growth = max(growth, 1.3) if walls == 2 else growth
    up = rows(first, growth, top)
    across = rows(2 * first, 1.4, deep) if walls == 2 else np.linspace(0, 1, 9)
    X, Y, Z = np.meshgrid(x, deep * across, up, indexing="ij")
    rise = draw.between(0.02, 0.08) * np.exp(-(((X - 0.8) / 0.3) ** 2) - (Y / 0.4) ** 2)
    if walls == 2:
        rise = np.maximum(X - 0.8, 0) * tan(radians(draw.between(0, 6)))
    points = np.stack([X, Y, rise + (top - rise) * Z], -1)
    lows = points[:, 0, 0, ::2]

    def layered(m):
        near = m[:, 2] - np.interp(m[:, 0], lows[:, 0], lows[:, 1]) < thick
        return near | (m[:, 1] < thick) if walls == 2 else near

    def name(m, n):
        if abs(n[0]) > 0.99999 and (m[0] < x[0] + 1e-9 or m[0] > x[-1] - 1e-9):
            return "inlet" if m[0] < 0 else "outlet"
        if abs(n[1]) > 0.99999 and (m[1] < 1e-9 or m[1] > deep - 1e-9):
            return "symmetry" if m[1] > 1e-9 or walls == 1 or m[0] < 0 else "wall"
        return "top" if m[2] > 0.5 * top else "symmetry" if m[0] < 0 else "wall"

    to_gmsh(draw.solid(grid(points), layered), name)
    ends = SPEED if fast else {"inlet": total(mach), "outlet": back()}
    return kind, mach, {"wall": "body", "symmetry": "symmetry", "top": "farfield", **ends}, {"re": round(reynolds), "lift": "z"}


def bump(draw):
    return block(draw, 1)


def corner(draw):
    return block(draw, 2)


def junction(draw):
    """A section between planes of symmetry, or of a wall and one: tapered and swept, prisms and hexahedra."""
    mach = draw.one(round(draw.scaled(0.1, 0.7), 3), round(draw.scaled(1.4, 3), 3))
    kind, reynolds, first, growth, thick = draw.viscous((50, 2000), (2e5, 8e6))
    sides, _ = draw.foil(0.14)
    curves, edges, nose = section_curves(sides)
    far = draw.between(5, 10)
    in_far_field([curves], far)
    mark(1, "wall", curves)
    sizes([(1, curves, draw.between(0.03, 0.045), far / 4, far), (0, [*edges, nose], 0.012, far / 4, far)])
    layer(curves, edges, first, max(growth, 1.25), min(thick, 0.08), True, fan_cells=5)
    gmsh.model.mesh.generate(2)
    wall = draw.one(True, False)
    span, taper, sweep = draw.between(0.4, 1), draw.between(0.8, 1), tan(radians(draw.between(0, 15)))
    z = span * (rows(10 * first, 2, span) if wall else np.linspace(0, 1, 6))

    def place(k, n):
        # The far field stays where it is.
        held = np.clip((np.hypot(n[:, 0] - 0.5, n[:, 1]) - 1) / (far - 2), 0, 1)
        c = 1 - (1 - held) * (1 - taper) * z[k] / span
        return np.column_stack([c * n[:, 0] + (1 - held) * sweep * z[k], np.full(len(n), z[k]), c * n[:, 1]])

    extruded(len(z) - 1, ("root", "symmetry"), place)
    sides = {**HALF, "root": "body" if wall else "symmetry"}
    return kind, mach, sides, {"alpha": round(draw.between(-1, 4), 2), "re": round(reynolds), "lift": "z", "area": round(span * (1 + taper) / 2, 5)}


KINDS = [blunt, cone, spheroid, ramps, pipe, bump, plate, wings, cone, nozzle2, cigar, corner, lens, junction, pipe]
EXACT = {}


if __name__ == "__main__":
    survey.CASES.clear()
    survey.main(__doc__, lambda folder: random_shapes.prepare(folder, KINDS, Draw, EXACT), EXACT)
