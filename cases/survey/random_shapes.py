#!/usr/bin/env python3
"""Flows with default settings around and through shapes drawn at random: sections, pairs of them, bodies, wings, noses and ducts, with cells, speeds, angles,
Reynolds numbers and models at random, too, where a steady flow may be expected.

    pip install gmsh numpy
    SEED=1 COUNT=100 python3 random_shapes.py FOLDER [--program chromaflow] [--jobs 16] [--limit 120] [--only WORD] [KEY=VALUE...]

Each number of SEED is another hundred meshes; a mesh that Gmsh cannot make is said and left out. Names tell kind, number, model and Mach number.
"""

import os
from math import sqrt

import gmsh
import numpy as np

import survey
from kit import Chance, wall_spacing
from meshes import box_sides, camber4, discrete, in_box, in_far_field, layer, loft, mark, occ_section, placed, revolved, section, section_curves, sizes
from survey import back, total

SEED, COUNT = (int(os.environ.get(key, default)) for key, default in (("SEED", "1"), ("COUNT", "100")))
FOIL = {"wall": "body", "far": "farfield"}
HALF = {**FOIL, "symmetry": "symmetry"}


class Draw(Chance):
    """What a mesh and its flow are drawn from."""

    def __init__(self, number):
        super().__init__([SEED, number])

    def foil(self, most=0.18):
        """A four-digit section: its sides, and how thick it is."""
        t = self.between(0.06, most)
        camber = camber4(self.one(0, self.between(0.01, 0.05)), self.between(0.3, 0.6))
        return section(camber, t, self.one(True, False), points=self.one(41, 61, 81)), t

    def subsonic(self, thickness):
        """Up to weak shocks."""
        return round(self.one(self.scaled(0.05, 0.4), self.between(0.3, 0.82 - 1.1 * thickness)), 3)

    def cells(self, curves, points, far, near=None):
        """Triangles or quadrilaterals that grow from the curves to the far field."""
        near = near or self.scaled(0.008, 0.025)
        sizes([(1, curves, near, far / 6, far), (0, points, near * self.between(0.15, 0.5), far / 6, far)])
        if self.one(True, False, False):
            gmsh.option.setNumber("Mesh.RecombineAll", 1)


def airfoil(draw):
    sides, t = draw.foil()
    far = draw.scaled(8, 80)
    curves, edges, nose = section_curves(sides)
    in_far_field([curves], far)
    mark(1, "wall", curves)
    kind = draw.one("euler", "euler", "laminar", "sa-neg", "sst")
    alpha = round(draw.between(-2, 5), 2)
    if kind == "euler":
        draw.cells(curves, [*edges, nose], far)
        mach = draw.one(draw.subsonic(t), draw.subsonic(t), round(draw.scaled(1.3, 4), 3))
        return kind, mach, FOIL, {"alpha": alpha}
    reynolds = draw.scaled(50, 2000) if kind == "laminar" else draw.scaled(5e5, 8e6)
    first = 0.05 / sqrt(reynolds) if kind == "laminar" else wall_spacing(reynolds, draw.scaled(0.3, 1.5))
    thick = 4 / sqrt(reynolds) if kind == "laminar" else 0.025
    draw.cells(curves, [*edges, nose], far)
    layer(curves, edges, first, draw.between(1.12, 1.3), min(thick, 0.15), draw.one(True, True, False), fan_cells=draw.one(5, 9))
    mach = draw.one(draw.subsonic(t), draw.subsonic(t), round(draw.scaled(1.3, 3), 3))
    if kind == "laminar":
        mach = min(mach, 0.6) if mach < 1 else mach
    return kind, mach, FOIL, {"alpha": alpha, "re": round(reynolds)}


def pair(draw):
    """Two sections, one behind or above the other."""
    (a, t), (b, s) = draw.foil(0.14), draw.foil(0.14)
    far = draw.scaled(10, 50)
    b = placed(b, draw.between(0.3, 1), draw.between(-5, 15), (draw.between(1.05, 1.3), draw.between(-0.3, 0.3)))
    (first, edges, nose), (second, more, tip) = section_curves(a), section_curves(b)
    in_far_field([first, second], far)
    mark(1, "wall", first + second)
    draw.cells(first + second, [*edges, nose, *more, tip], far)
    return "euler", min(draw.subsonic(max(t, s)), 0.5), FOIL, {"alpha": round(draw.between(-2, 4), 2)}


def bluff(draw):
    """An ellipse in slow viscous flow, whose wake stands."""
    geo, far = gmsh.model.geo, draw.scaled(20, 60)
    high, n = draw.between(0.3, 0.9), 40
    ring = [geo.addPoint(0.5 * np.cos(a), 0.5 * high * np.sin(a), 0) for a in 2 * np.pi * np.arange(n) / n]
    curves = [geo.addSpline(ring[: n // 2 + 1]), geo.addSpline([*ring[n // 2 :], ring[0]])]
    in_far_field([curves], far, (0, 0))
    mark(1, "wall", curves)
    sizes([(1, curves, draw.scaled(0.015, 0.03), far / 6, far)], [(0.1, far / 6, (0, -0.6), (4, 0.6))])
    if draw.one(True, False):
        layer(curves, [], 0.01, 1.15, 0.15, True)
    return "laminar", round(draw.scaled(0.05, 0.4), 3), FOIL, {"alpha": round(draw.between(-5, 5), 2), "re": round(draw.scaled(5, 40), 1)}


def duct(draw):
    """A channel whose walls swell and shrink smoothly, from total pressure to a back pressure that leaves it subsonic."""
    geo, n = gmsh.model.geo, 41
    x = np.linspace(0, draw.between(3, 6), n)
    rise = 0.5 - 0.5 * np.cos(np.pi * np.clip((x - 0.8) / (x[-1] - 1.6), 0, 1))
    bump = np.exp(-(((x - 0.5 * x[-1]) / draw.between(0.4, 0.9)) ** 2))
    low = draw.between(-0.5, 0.5) * rise + draw.between(-0.1, 0.12) * bump
    high = low + 1 + draw.between(-0.25, 0.2) * rise - draw.between(-0.1, 0.12) * bump
    rows = [[geo.addPoint(a, b, 0) for a, b in zip(x, y)] for y in (low, high)]
    floor, roof = (geo.addSpline(row) for row in rows)
    inlet, outlet = (geo.addLine(rows[1][k], rows[0][k]) for k in (0, -1))
    surface = geo.addPlaneSurface([geo.addCurveLoop([floor, -outlet, -roof, inlet])])
    geo.synchronize()
    for name, sides in (("wall", [floor, roof]), ("inlet", [inlet]), ("outlet", [outlet])):
        mark(1, name, sides)
    mark(2, "fluid", [surface])
    kind = draw.one("euler", "laminar", "sa-neg")
    sizes([(1, [floor, roof], draw.scaled(0.02, 0.05), 0.08, 0.5)])
    mach = round(draw.scaled(0.08, 0.35), 3)
    sides = {"wall": "body", "inlet": total(mach, (1, 0, 0)), "outlet": back()}
    if kind == "euler":
        if draw.one(True, False):
            gmsh.option.setNumber("Mesh.RecombineAll", 1)
        return kind, mach, sides, {}
    reynolds = round(draw.scaled(50, 500) if kind == "laminar" else draw.scaled(1e5, 1e6))
    first = 0.01 if kind == "laminar" else wall_spacing(reynolds)
    layer([floor, roof], [], first, 1.2, 0.15, True, ends=[rows[0][0], rows[0][-1], rows[1][0], rows[1][-1]])
    return kind, mach, sides, {"re": reynolds}


def nose(draw):
    """A blunt planar or round nose at supersonic speed: quadrilaterals, or triangles cut from them."""
    n, m = draw.one(40, 60), draw.one(30, 45)
    angle = np.linspace(-0.5, 0.5, n + 1) * np.pi
    long, off = draw.between(0.6, 2), draw.between(1.4, 2)
    mach = round(draw.scaled(1.8, 10), 2)
    wall = np.stack([-long * np.cos(angle), np.sin(angle)], 1)
    # Far enough for the bow shock of a nose of this shape.
    away = off * (1 + 2 / (mach - 0.8))
    rows = np.linspace(0, 1, m + 1)[:, None, None] ** draw.between(1, 1.3)
    outer = np.stack([-(long + away * 0.6) * np.cos(angle), (1 + away) * np.sin(angle)], 1)
    points = wall + rows * (outer - wall)
    number = np.arange(points.shape[0] * points.shape[1]).reshape(points.shape[:2])
    quads = np.stack([number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]], -1).reshape(-1, 4)
    edges = {"wall": number[0], "far": number[-1], "outlet_low": number[:, 0], "outlet_high": number[:, -1]}
    cells = {3: quads} if draw.one(True, False) else {2: np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])}
    discrete(points.reshape(-1, 2), 2, cells, {name: {1: np.stack([row[:-1], row[1:]], 1)} for name, row in edges.items()})
    sides = {**FOIL, "outlet_low": "extrapolation", "outlet_high": "extrapolation"}
    return "euler", mach, sides, {"alpha": round(draw.between(-5, 5), 2)}


def wing(draw):
    """Half of a tapered wing: tetrahedra."""
    sides, t = draw.foil(0.14)
    span, taper, sweep = draw.between(1, 3), draw.between(0.3, 1), draw.between(0, 35)
    tip = (span * np.tan(np.radians(sweep)), span, 0)
    back_by = tuple(-0.2 * c / span for c in tip)
    body = loft([occ_section(sides, 1, back_by), occ_section(sides, taper, tip, draw.between(-3, 1))])
    far = draw.scaled(5, 15)
    low, high = (-far, 0, -far), (far + 3, far + span, far)
    in_box([body], low, high, {("wall",): (draw.scaled(0.04, 0.06), far / 4, far)}, box_sides(low, high))
    mach = draw.one(draw.subsonic(t), round(draw.between(0.5, 0.85), 3), round(draw.scaled(1.4, 3), 3))
    return "euler", mach, HALF, {"alpha": round(draw.between(-1, 5), 2), "lift": "z"}


def body(draw):
    """Half of a body of revolution with a pointed or round end on either side: tetrahedra."""
    length, x = draw.between(3, 7), np.linspace(0, 1, 41)
    front, rear = draw.one(0.5, 0.75, 1.0), draw.one(0.5, 1.0)
    radius = x**front * (1 - x) ** rear
    profile = np.stack([length * x, 0.5 * radius / radius.max()], 1)
    solid = revolved(None, [profile])
    far = draw.scaled(8, 25)
    low, high = (-far, 0, -far), (far + length, far, far)
    in_box([solid], low, high, {("wall",): (draw.scaled(0.05, 0.08), far / 5, far)}, box_sides(low, high))
    mach = draw.one(round(draw.scaled(0.1, 0.7), 3), round(draw.scaled(1.3, 4), 3))
    return "euler", mach, HALF, {"alpha": round(draw.between(0, 6), 2), "lift": "z"}


KINDS = [airfoil, airfoil, airfoil, airfoil, pair, bluff, duct, duct, nose, wing, wing, body]


def prepare(folder, kinds=KINDS, draw_of=Draw, exact=None):
    """Meshes and cases of COUNT numbers, the kinds in turn; what a kind says is known goes to `exact` by the case's name."""
    (folder / "m").mkdir(exist_ok=True)
    for number in range(COUNT):
        kind, draw = kinds[number % len(kinds)], draw_of(number)
        mesh = f"{kind.__name__}{SEED}_{number}"
        path = folder / "m" / f"{mesh}.msh"
        gmsh.initialize()
        for key, value in (("General.Verbosity", 0), ("General.NumThreads", 1), ("Mesh.Binary", 1), ("Mesh.MshFileVersion", 4.1)):
            gmsh.option.setNumber(key, value)
        gmsh.model.add(mesh)
        try:
            flow, mach, sides, more = kind(draw)
            if not path.exists():
                dim = gmsh.model.getDimension()
                if len(gmsh.model.mesh.getElementTypes(dim)) == 0:
                    gmsh.model.mesh.generate(dim)
                gmsh.write(str(path))
            model = {} if flow in ("euler", "laminar") else {"model": flow}
            name = f"{mesh}_{flow.split('-')[0]}_m{str(mach).replace('.', '')}"
            if "exact" in more:
                exact[name] = more.pop("exact")
            survey.case(name, mesh, mach, sides, **more, **model, about="Drawn at random")
        except Exception as error:
            print(f"{mesh} is left out: {error!r}", flush=True)
        gmsh.finalize()


if __name__ == "__main__":
    survey.CASES.clear()
    survey.main(__doc__, prepare)
