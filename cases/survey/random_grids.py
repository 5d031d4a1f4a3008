#!/usr/bin/env python3
"""Flows with default settings on structured grids drawn at random: O- and C-grids around sections, channels, nozzles, ramps, steps, plates, bodies with a base, noses,
sectors, pipes, wings and boxes, in blocks of any axes, cut anywhere, with points spaced, sheared and moved at random; inviscid, laminar and turbulent, M 0.02 to 8,
some in incompressible flow, where a steady flow may be expected.

    pip install numpy
    SEED=1 COUNT=60 python3 random_grids.py FOLDER [--program chromaflow] [--jobs 16] [--limit 120] [--only WORD] [KEY=VALUE...]

As `random_layers.py`; centers of the first cells are at a y+ of 0.3 to 60. What theory knows stands in the last column.
"""

import os
from math import ceil, cos, log, pi, radians, sin, sqrt, tan

import numpy as np

import kit
import survey
from blocks import bent, cut, sound, turned, write
from grids import rings
from kit import Chance, naca, stretched, wall_spacing
from others import wedge_pressure
from survey import back, isentropic, total

SEED, COUNT = (int(os.environ.get(key, default)) for key, default in (("SEED", "1"), ("COUNT", "60")))
RANS = ("sa-neg", "sst", "k-omega")
TAU = 2 * pi


class Draw(Chance):
    """What a grid and its flow are drawn from."""

    def flow(self, kinds, laminar=(1, 1), turbulent=(1, 1), slow=False):
        """Model, Reynolds number over a length of 1 and first cell; whether the flow is incompressible."""
        self.kind = self.one(*kinds)
        self.slow = slow and self.kind != "euler" and self.one(True, False, False)
        self.plus = None
        if self.kind == "euler":
            self.re, self.first = None, self.one(self.scaled(0.003, 0.03), self.scaled(0.003, 0.03), self.scaled(3e-4, 3e-3))
        elif self.kind == "laminar":
            self.re = round(self.scaled(*laminar), 1)
            self.first = self.between(0.03, 0.2) / sqrt(self.re)
        else:
            self.re = round(self.scaled(*turbulent))
            self.plus = self.one(self.scaled(0.3, 1.5), self.scaled(0.3, 1.5), self.scaled(1.5, 60))
            self.first = 2 * wall_spacing(self.re, self.plus)
        return self.kind

    def spaced(self, n, first):
        """n + 1 places from 0 to 1 that grow from `first` geometrically or by a hyperbolic tangent."""
        if first * n > 0.8:
            return self.one(np.linspace(0, 1, n + 1), kit.uneven(n, self.rng.integers(1 << 30), 0.3))
        if self.one(True, False):
            return stretched(n, first)
        low, high, t = 1e-3, 40.0, np.arange(n + 1) / n
        for _ in range(100):
            d = 0.5 * (low + high)
            low, high = (d, high) if 1 + np.tanh(d * (t[1] - 1)) / np.tanh(d) > first else (low, d)
        return 1 + np.tanh(d * (t - 1)) / np.tanh(d)

    def off(self, height, most=64, least=14):
        """Places from 0 to 1 across a height, from the wall."""
        growth, first = self.between(1.1, 1.4), min(self.first / height, 0.08)
        n = ceil(log(1 + (growth - 1) / first) / log(growth))
        return self.spaced(min(max(n, least), most), first)

    def both(self, height, most=64):
        half = self.off(height / 2, most // 2, 8) / 2
        return np.r_[half, 1 - half[-2::-1]]

    def along(self, n):
        """Places from 0 to 1, even or not."""
        return self.one(np.linspace(0, 1, n + 1), kit.uneven(n, self.rng.integers(1 << 30), self.between(0.1, 0.6)))

    def wall(self, mach):
        if self.kind == "euler":
            return "wall" if self.slow else "slip_wall"
        if self.slow:
            return "wall"
        if self.one(True, True, False):
            return "no_slip"
        return f'{{ kind = "no_slip", temperature = {self.between(1, 1 + 0.15 * mach**2):.3f} }}'

    def ends(self, mach, profile=None):
        """What flows in and out of ducts."""
        if self.slow:
            return {"in": '{ kind = "inflow", velocity = [1.0, 0.0, 0.0] }', "out": "outflow"}
        return {"in": total(mach), "out": back()} if mach < 1 else {"in": "farfield", "out": "extrapolation"}

    def section(self):
        """A closed section from its rear end over the lower side back, what it is, and how thick."""
        n, what = self.one(32, 40, 48), self.one("naca", "naca", "naca", "ellipse", "cylinder", "diamond", "lens")
        if self.kind in RANS and what in ("cylinder", "ellipse"):
            what = "naca"
        t, x = self.between(0.06, 0.18), 0.5 * (1 - np.cos(pi * np.arange(n + 1) / n))
        if what == "naca":
            return naca(f"{self.one(0, 0, 2, 4)}4{round(100 * t):02}", n), what, t
        if what in ("ellipse", "cylinder"):
            t = 1 if what == "cylinder" else self.between(0.1, 0.8)
            a = -TAU * np.arange(2 * n + 1) / (2 * n)
            section = np.stack([0.5 + 0.5 * np.cos(a), 0.5 * t * np.sin(a)], 1)
            section[-1] = section[0]
            return section, what, t
        t = min(t, 0.12)
        half = 2 * t * x * (1 - x) if what == "lens" else 0.5 * t * np.minimum(2 * x, 2 * (1 - x))
        return np.concatenate([np.stack([x, -half], 1)[::-1], np.stack([x, half], 1)[1:]]), what, t

    def speed(self, what, thick):
        """A Mach number for a section."""
        fast = round(self.scaled(1.3, 8 if self.kind == "euler" or what in ("naca", "lens") else 4), 2)
        calm = round(self.one(self.scaled(0.02, 0.3), self.between(0.3, max(0.85 - 1.1 * thick, 0.32))), 3)
        if what in ("cylinder", "ellipse") and thick > 0.2:
            return self.one(min(calm, 0.3), fast) if self.kind == "euler" else min(calm, 0.4)
        return self.one(calm, calm, fast)


def result(draw, blocks, name, mach, sides, planar=True, **more):
    """A draw's grid and flow."""
    return {"blocks": blocks, "name": name, "mach": mach, "sides": sides, "planar": planar, **more}


def near(m, curve):
    """The distance of a point from a curve of pieces."""
    a, d = curve[:-1], np.diff(curve, axis=0)
    t = np.clip(((m - a) * d).sum(1) / np.maximum((d * d).sum(1), 1e-300), 0, 1)
    return np.linalg.norm(a + t[:, None] * d - m, axis=1).min()


# ---- Around sections ---------------------------------------------------------------------------------------------------------------


def body_flow(draw):
    draw.flow(("euler", "euler", "laminar", *RANS), (50, 5000), (3e5, 1e7), slow=True)
    section, what, t = draw.section()
    if draw.kind == "laminar" and what in ("cylinder", "ellipse"):
        draw.re = round(draw.scaled(5, 45), 1)
        draw.first = draw.between(0.01, 0.05)
    mach = draw.speed(what, t)
    if draw.kind == "laminar" and mach < 1:
        mach = min(mach, 0.6)
    alpha = draw.one(0.0, round(draw.between(-2, 6 if mach < 0.5 else 2), 2)) if what != "cylinder" else 0.0
    sides = {"wall": draw.wall(mach), "far": "farfield"}
    return section, what, mach, alpha, sides


def far_of(draw, mach):
    return draw.scaled(10, 60) if mach < 1.1 or draw.slow else draw.between(4, 12)


def ring(draw):
    """An O-grid."""
    section, what, mach, alpha, sides = body_flow(draw)
    far = far_of(draw, mach)
    turn = np.cumsum(np.r_[0, np.linalg.norm(np.diff(section, axis=0), axis=1)])
    angle = -TAU * (0.5 * turn / turn[-1] + 0.5 * np.arange(len(section)) / (len(section) - 1))
    outer = far * np.stack([np.cos(angle), np.sin(angle)], 1) + [0.5, 0]
    plane = rings(section, outer, draw.off(far, 72, 32))
    plane[-1] = plane[0]
    same = alpha == 0 and abs(section + [0, 0] - section[::-1] * [1, -1]).max() < 1e-12
    name = lambda m, n: "wall" if np.hypot(m[0] - 0.5, m[1]) < 1 else "far"
    return result(draw, [plane], name, mach, sides, alpha=alpha, exact=f"{what}{', cl 0' if same else ''}")


def tail(draw):
    """A C-grid: two blocks of the wake and one around the section."""
    draw.flow(("euler", "laminar", *RANS), (200, 5000), (3e5, 1e7), slow=True)
    n, t = draw.one(32, 40), draw.between(0.08, 0.18)
    section = naca(f"{draw.one(0, 2, 4)}4{round(100 * t):02}", n)
    mach = draw.speed("naca", t)
    far = far_of(draw, mach)
    wake = stretched(24, draw.scaled(0.004, 0.02) / far)[1:] * far
    behind = np.stack([1 + wake, 0 * wake], 1)
    inner = np.concatenate([behind[::-1], section, behind])
    outer, k = np.empty_like(inner), np.arange(len(section)) / (len(section) - 1)
    angle = -pi / 2 - pi * k
    outer[24:-24] = np.stack([1 + far * np.cos(angle), far * np.sin(angle)], 1)
    outer[:24] = np.stack([1 + wake[::-1], np.full(24, -far)], 1)
    outer[-24:] = np.stack([1 + wake, np.full(24, far)], 1)
    plane = rings(inner, outer, draw.off(far, 60, 32), np.clip((inner[:, 0] - 0.6) / 0.4, 0, 1) ** 2)
    plane[-25:, 0] = plane[24::-1, 0]
    blocks = draw.one([plane], [plane[:25], plane[24:-24], plane[-25:]])
    name = lambda m, n: "wall" if near(m[:2], section) < 0.02 else "far"
    alpha = round(draw.between(-2, 6 if mach < 0.5 else 2), 2)
    return result(draw, blocks, name, mach, {"wall": draw.wall(mach), "far": "farfield"}, alpha=alpha)


# ---- Channels ----------------------------------------------------------------------------------------------------------------------


def across(low, high, s):
    return low[:, None] * (1 - s)[None, :, None] + high[:, None] * s[None, :, None]


def duct(draw):
    """A channel whose walls swell and shrink, subsonic, choked, or with a shock."""
    draw.flow(("euler", "laminar", *RANS), (50, 600), (5e4, 1e6), slow=True)
    long = draw.between(3, 6)
    x = long * draw.along(draw.one(60, 90))
    rise = 0.5 - 0.5 * np.cos(pi * np.clip((x - 0.8) / (long - 1.6), 0, 1))
    bump = np.exp(-(((x - 0.45 * long) / draw.between(0.3, 0.8)) ** 2))
    low = draw.one(0, 1) * (draw.between(-0.3, 0.3) * rise + draw.between(0, 0.1) * bump)
    high = low + 1 + draw.between(-0.2, 0.2) * rise - draw.between(-0.05, 0.15) * bump
    choked = not draw.slow and draw.one(False, False, True)
    mirror = choked or draw.one(True, False)
    mach = round(draw.scaled(0.03, 0.3), 3)
    ends = draw.ends(mach)
    if choked:
        throat = draw.between(0.5, 0.7)
        wide, low = draw.between(0.75, 1.1), 0 * x
        c = 0.4 * long
        high = np.where(x < c, throat + (1 - throat) * np.cos(0.5 * pi * np.clip(x / c, 0, 1)) ** 2, throat + (wide - throat) * np.sin(0.5 * pi * np.clip((x - c) / (long - c), 0, 1)) ** 2)
        mach = float(min(np.linspace(0.05, 1, 2000), key=lambda m: abs(((1 + 0.2 * m * m) / 1.2) ** 3 / m - 1 / throat)))
        mach = round(mach, 3)
        ends = {"in": total(mach), "out": draw.one("extrapolation", back(draw.between(0.68, 0.78) * isentropic(mach)[0]))}
    s = 1 - draw.off(1, 56)[::-1] if mirror else draw.both(1)
    plane = across(np.stack([x, low], 1), np.stack([x, high], 1), s)
    floor, roof = np.stack([x, low], 1), np.stack([x, high], 1)

    def name(m, n):
        to_floor, to_roof = near(m[:2], floor), near(m[:2], roof)
        if min(to_floor, to_roof) > 1e-3 * min(1, 100 * draw.first) and abs(n[0]) > 0.5 or min(to_floor, to_roof) > 0.02:
            return "in" if m[0] < 0.5 * long else "out"
        if m[0] < 1e-9 or m[0] > long - 1e-9:
            return "in" if m[0] < 0.5 * long else "out"
        return "low" if to_floor < to_roof else "wall"

    wall = draw.wall(mach)
    low_side = "symmetry" if mirror and np.ptp(low) == 0 else wall
    return result(draw, [plane], name, mach, {"wall": wall, "low": low_side, **ends}, exact="choked" if choked else "")


def ramp(draw):
    """Supersonic flow over a ramp, two ramps, a bump or an edge."""
    draw.flow(("euler", "laminar", *RANS), (1e4, 1e5), (2e5, 5e6))
    mach = round(draw.scaled(1.6, 8), 2)
    most = 9 if draw.kind == "laminar" else 18
    what, angle = draw.one("ramp", "ramp", "edge", "bump"), draw.between(3, min(most, 12 * (mach - 1)))
    x = np.unique(np.r_[0.0, -0.4 + 1.6 * draw.along(draw.one(70, 100))])
    y = {"ramp": np.maximum(x, 0) * tan(radians(angle)), "edge": -np.maximum(x, 0) * tan(radians(angle))}.get(
        what, 0.06 * np.sin(pi * np.clip(x, 0, 1)) ** 2
    )
    top = draw.between(0.8, 1.1) + max(y.max(), 0)
    floor = np.stack([x, y], 1)
    plane = across(floor, np.stack([x, 0 * x + top], 1), draw.off(top, 64, 36))

    def name(m, n):
        if abs(m[0] - x[0]) < 1e-9 or abs(m[0] - x[-1]) < 1e-9:
            return "in" if m[0] < 0 else "out"
        return "far" if m[1] > top - 1e-9 else "wall"

    exact = what
    if what == "ramp" and draw.kind == "euler":
        exact = f"cd {(wedge_pressure(mach, angle) - 1) * tan(radians(angle)) * x[-1] / (0.7 * mach**2):.5f} (oblique shock)"
    sides = {"wall": draw.wall(mach), "far": "farfield", "in": "farfield", "out": "extrapolation"}
    return result(draw, [plane], name, mach, sides, exact=exact)


def plate(draw):
    """A plate at any speed."""
    draw.flow(("laminar", *RANS), (1e4, 5e5), (5e5, 2e7), slow=True)
    mach = round(draw.one(draw.scaled(0.03, 0.8), draw.scaled(1.4, 8)), 3)
    x = np.r_[-0.4 * stretched(16, draw.scaled(0.01, 0.05))[:0:-1], stretched(draw.one(40, 60), draw.scaled(0.003, 0.012))]
    top = draw.between(0.3, 1)
    s = draw.off(top, 64, 32)
    plane = across(np.stack([x, 0 * x], 1), np.stack([x, 0 * x + top], 1), s)

    def name(m, n):
        if abs(m[0] - x[0]) < 1e-9 or abs(m[0] - x[-1]) < 1e-9:
            return "in" if m[0] < 0 else "out"
        return "far" if m[1] > 0.5 * top else "symmetry" if m[0] < 0 else "wall"

    exact = 1.328 / sqrt(draw.re) if draw.kind == "laminar" else 0.031 / draw.re ** (1 / 7)
    sides = {"wall": draw.wall(mach), "symmetry": "symmetry", "far": "farfield", **draw.ends(mach)}
    return result(draw, [plane], name, mach, sides, exact=f"cd {exact:.6f} (slow)")


def step(draw):
    """A backward step, in three blocks or two; the step's height is 1."""
    draw.flow(("laminar", *RANS), (20, 150), (2e4, 2e5), slow=True)
    mach = round(draw.one(draw.scaled(0.05, 0.3), draw.scaled(0.05, 0.3), draw.scaled(1.8, 3)), 3)
    if mach > 1 and draw.kind == "laminar":
        draw.re = round(draw.scaled(500, 5000), 1)
    above, ahead, behind = draw.between(1, 2), draw.between(2, 4), draw.between(10, 20)
    up, down = draw.both(above, 44), draw.both(1, 36)
    xa, xb = -ahead * stretched(24, 0.03 / ahead)[::-1], behind * stretched(draw.one(44, 60), 0.03 / behind)
    box = lambda x, low, high, s: across(np.stack([x, 0 * x + low], 1), np.stack([x, 0 * x + high], 1), s)
    blocks = [box(xa, 0, above, up), box(xb, 0, above, up), box(xb, -1, 0, down)]

    def name(m, n):
        if abs(m[0] - xa[0]) < 1e-9:
            return "in"
        return "out" if abs(m[0] - xb[-1]) < 1e-9 else "top" if m[1] > above - 1e-9 else "wall"

    wall = draw.wall(mach)
    top = draw.one("symmetry", wall)
    return result(draw, blocks, name, mach, {"wall": wall, "top": top, **draw.ends(mach)})


# ---- Noses and bases ---------------------------------------------------------------------------------------------------------------


def around_axis(plane, degrees, parts):
    angles = np.radians(np.linspace(-degrees / 2, degrees / 2, parts + 1))
    x, r = plane[..., 0], plane[..., 1]
    return np.stack([np.stack([x, r * cos(a), r * sin(a)], -1) for a in angles], 2)


def sector_name(name, degrees, parts):
    """Names of a sector's sides by those of its plane; the axis's faces have no area."""
    half, step_by = radians(degrees / 2), cos(radians(degrees / parts / 2))

    def of(m, n):
        if any(abs(n @ [0, -c * sin(half), cos(half)]) > 0.99999 and c * m[2] > 0 for c in (1, -1)):
            return "side"
        return "axis" if not n.any() else name(np.array([m[0], np.hypot(m[1], m[2]) / step_by]), n)

    return of


def nose(draw):
    """A blunt nose and what follows: planar, whole or its half, or a sector about its axis."""
    draw.flow(("euler", "euler", "laminar", *RANS), (1e3, 1e5), (1e5, 5e6))
    mach = round(draw.scaled(1.8, 8), 2)
    whole = draw.one(True, False)
    # What leaves is supersonic.
    half, long = radians(draw.between(2, min(25, 10 * (mach - 1)))), draw.between(0.8, 2)
    arc = 0.5 * pi - half
    way = np.linspace(0, arc + long, draw.one(36, 48) + 1)
    t, behind = np.minimum(way, arc), np.maximum(way - arc, 0)
    body = np.stack([1 - np.cos(t) + behind * cos(half), np.sin(t) + behind * sin(half)], 1)
    normal = np.stack([-np.cos(t), np.sin(t)], 1)
    outer = body + ((0.5 if not whole else 0.9) + 1.6 / (mach - 0.6) + (0.5 + 0.6 / (mach - 0.8)) * way)[:, None] * normal
    body[0, 1] = outer[0, 1] = 0
    if whole:
        body, outer = (np.concatenate([c[:0:-1] * [1, -1], c]) for c in (body, outer))
    height = np.linalg.norm(outer - body, axis=1).mean()
    plane = across(body, outer, draw.off(height, 60, 36))
    if not whole:
        plane[0, :, 1] = 0

    def name(m, n):
        a, b = near(m[:2], body), near(m[:2], outer)
        ends = [near(m[:2], plane[k]) for k in (0, -1)]
        if min(ends) < min(a, b, 1e-3) or min(ends) < 1e-9:
            return "out" if whole or ends[1] < ends[0] else "symmetry"
        return "wall" if a < b else "far"

    sides = {"wall": draw.wall(mach), "far": "farfield", "out": "extrapolation"}
    if whole:
        alpha = draw.one(0.0, round(draw.between(-5, 5), 2))
        return result(draw, [plane], name, mach, sides, alpha=alpha, exact="cl 0" if alpha == 0 else "")
    if draw.one(True, False):
        return result(draw, [plane], name, mach, {**sides, "symmetry": "symmetry"})
    degrees, parts = draw.one((draw.between(2, 10), 1), (draw.between(2, 10), 1), (90, 5), (180, 9))
    named = sector_name(name, degrees, parts)
    area = body[-1, 1] ** 2 * parts * sin(radians(degrees / parts)) / 2
    return result(draw, [around_axis(plane, degrees, parts)], named, mach, {**sides, "side": "symmetry", "axis": "symmetry"}, False, area=area)


def base(draw):
    """Half of a body that ends in a flat base, planar or a sector: blocks before, along and behind it."""
    draw.flow(("euler", "laminar", *RANS), (50, 2000), (1e5, 3e6))
    mach = round(draw.scaled(1.4, 5), 2) if draw.kind == "euler" else round(draw.one(draw.scaled(0.1, 0.6), draw.scaled(1.4, 4)), 2)
    if draw.kind == "laminar" and mach < 1:
        draw.re = round(draw.scaled(20, 100), 1)
    thick, top, ahead, behind = draw.between(0.08, 0.15), draw.between(2, 4), draw.between(0.5, 1), draw.between(3, 6)
    if mach < 1:
        top, ahead, behind = 4 * top, 4 * ahead, 3 * behind
    n = draw.one(36, 48)
    x = [-ahead * stretched(16, 0.02 / ahead)[::-1], 0.5 - 0.5 * np.cos(pi * np.arange(n + 1) / n), 1 + behind * stretched(40, 0.01 / behind)]
    s, inner = draw.off(top, 52, 28), 1 - draw.off(thick, 24, 10)[::-1]
    low = [0 * x[0], thick * (1 - (1 - np.clip(x[1] / 0.7, 0, 1)) ** 2), 0 * x[2] + thick]
    curves = [np.stack([a, b], 1) for a, b in zip(x, low)]
    blocks = [across(c, np.stack([c[:, 0], 0 * c[:, 0] + top], 1), s) for c in curves]
    blocks.append(across(np.stack([x[2], 0 * x[2]], 1), curves[2], inner))

    def name(m, n):
        if m[0] < -ahead + 1e-9:
            return "in"
        if m[0] > 1 + behind - 1e-9:
            return "out"
        return "far" if m[1] > top - 1e-6 else "symmetry" if m[1] < 1e-9 and not 0 < m[0] < 1 else "wall"

    sides = {"wall": draw.wall(mach), "far": "farfield", "in": "farfield", "out": back() if mach < 1 else "extrapolation"}
    if draw.one(True, False):
        return result(draw, blocks, name, mach, {**sides, "symmetry": "symmetry"})
    degrees = draw.between(3, 8)
    named = sector_name(name, degrees, 1)
    area = thick**2 * sin(radians(degrees)) / 2
    whole = [around_axis(b, degrees, 1) for b in blocks]
    return result(draw, whole, named, mach, {**sides, "side": "symmetry", "axis": "symmetry"}, False, area=area)


def cone(draw):
    """A sharp cone in a sector of one cell."""
    draw.flow(("euler", "euler", "laminar", *RANS), (1e4, 1e5), (5e5, 5e6))
    mach, a = round(draw.scaled(2, 8), 2), radians(draw.between(8, 20))
    x = np.r_[-0.12 * np.linspace(1, 0, 9)[:-1], draw.along(draw.one(50, 60))]
    plane = across(np.stack([x, np.maximum(x, 0) * tan(a)], 1), np.stack([x, 0 * x + 1], 1), draw.off(1, 60, 40))
    plane = plane[8:] if draw.one(True, False) else plane

    def name(m, n):
        if abs(m[0] - plane[0, 0, 0]) < 1e-9:
            return "in"
        return "out" if m[0] > 1 - 1e-9 else "far" if m[1] > 0.999 else "axis" if m[0] < 0 else "wall"

    degrees = draw.between(2, 8)
    sides = {"wall": draw.wall(mach), "far": "farfield", "in": "farfield", "out": "extrapolation", "side": "symmetry", "axis": "symmetry"}
    area = tan(a) ** 2 * sin(radians(degrees)) / 2
    return result(draw, [around_axis(plane, degrees, 1)], sector_name(name, degrees, 1), mach, sides, False, area=area, exact=f"{a * 180 / pi:.2f} degrees")


# ---- In space ----------------------------------------------------------------------------------------------------------------------


def pipe(draw):
    """A pipe of diameter 1, straight, bent, wider or narrower behind: a square within four blocks, or a sector."""
    draw.flow(("laminar", "laminar", *RANS), (50, 500), (2e4, 3e5), slow=True)
    mach, long = round(draw.scaled(0.03, 0.3), 3), draw.between(3, 8)
    sector = draw.one(True, False, False)
    s = 1 - draw.off(0.5 if sector else 0.25, 40 if sector else 18, 8)[::-1]
    x = long * (draw.along(48) if sector else draw.along(24))
    wide = 1 + draw.one(0, draw.between(-0.2, 0.2)) * (0.5 - 0.5 * np.cos(pi * np.clip(x / long / 0.6 - 0.3, 0, 1)))
    ends = draw.ends(mach)
    sides = {"wall": draw.wall(mach), **ends}
    if sector:
        plane = across(np.stack([x, 0 * x], 1), np.stack([x, 0.5 * wide], 1), s)
        degrees = draw.between(2, 8)
        name = lambda m, n: "in" if m[0] < 1e-9 else "out" if m[0] > long - 1e-9 else "axis" if m[1] < 1e-9 else "wall"
        return result(draw, [around_axis(plane, degrees, 1)], sector_name(name, degrees, 1), mach, {**sides, "side": "symmetry", "axis": "symmetry"}, False)
    n, bend = draw.one(6, 8), draw.one(0, radians(draw.between(20, 90)))
    e = np.linspace(-1, 1, n + 1)
    u, v = np.meshgrid(e, e, indexing="ij")
    core = 0.25 * np.stack([u * (1 - 0.12 * v * v), v * (1 - 0.12 * u * u)], -1)
    angle = np.arctan2(e, 1)
    rim = 0.5 * np.stack([np.cos(angle), np.sin(angle)], 1)
    quarter = lambda p: np.stack([-p[..., 1], p[..., 0]], -1)
    edges, faces = [core[-1], core[:, -1][::-1], core[0][::-1], core[:, 0]], [core]
    for edge in edges:
        faces.append(across(edge, rim, s))
        rim = quarter(rim)
    for k in range(4):
        faces[k + 1][-1] = faces[(k + 1) % 4 + 1][0]
    radius = long / bend if bend else 0
    blocks = []
    for face in faces:
        rows = []
        for k, at in enumerate(x):
            a, y, z = at / radius if bend else 0, wide[k] * face[..., 0], wide[k] * face[..., 1]
            rows.append(np.stack([(radius - y) * sin(a), y + (radius - y) * (1 - cos(a)), z], -1) if bend else np.stack([0 * y + at, y, z], -1))
        blocks.append(np.stack(rows, 2))
    tip = np.array([radius * sin(bend), radius * (1 - cos(bend)), 0]) if bend else np.array([long, 0, 0])
    along = np.array([cos(bend), sin(bend), 0])

    def name(m, n):
        if abs(m[0]) < 1e-9 and abs(n[0]) > 0.9999:
            return "in"
        return "out" if abs((m - tip) @ along) < 1e-9 else "wall"

    return result(draw, blocks, name, mach, sides, False, exact="bent" if bend else "")


def wing(draw):
    """Sections stacked between two planes of symmetry, or from a wall: tapered, swept."""
    draw.flow(("euler", "euler", "laminar", *RANS), (100, 3000), (3e5, 5e6), slow=True)
    t = draw.between(0.08, 0.16)
    section = naca(f"{draw.one(0, 2)}4{round(100 * t):02}", draw.one(24, 28))
    mach = draw.speed("naca", t)
    mach = min(mach, 0.6) if draw.kind == "laminar" and mach < 1 else min(mach, 4)
    far, n = min(far_of(draw, mach), 20), len(section)
    angle = -TAU * np.arange(n) / (n - 1)
    plane = rings(section, far * np.stack([np.cos(angle), np.sin(angle)], 1) + [0.5, 0], draw.off(far, 32, 22))
    plane[-1] = plane[0]
    span, taper, sweep = draw.between(0.5, 2), draw.between(0.5, 1), draw.between(0, 35)
    z = span * draw.along(draw.one(6, 8))
    chord = 1 - (1 - taper) * z / span
    rows = [np.stack([plane[..., 0] * c + d * tan(radians(sweep)), plane[..., 1] * c, 0 * plane[..., 0] + d], -1) for c, d in zip(chord, z)]
    name = lambda m, n: "side" if abs(n[2]) > 0.99999 else "wall" if abs(m[1]) < 1 and np.hypot(m[0] - m[2] * tan(radians(sweep)) - 0.5, m[1]) < 2 else "far"
    alpha = round(draw.between(-1, 4), 2)
    sides = {"wall": draw.wall(mach), "far": "farfield", "side": "symmetry"}
    return result(draw, [np.stack(rows, 2)], name, mach, sides, False, alpha=alpha, lift="y", area=span * (1 + taper) / 2)


def box(draw):
    """A swept ramp, a hill or a corner of two walls in a box."""
    draw.flow(("euler", "euler", "laminar", *RANS), (1e3, 1e5), (1e5, 5e6), slow=True)
    mach = round(draw.one(draw.scaled(0.05, 0.7), draw.scaled(1.5, 6)), 3)
    what = draw.one("hill", "corner") if mach < 1 or draw.slow else draw.one("ramp", "ramp", "hill", "corner")
    top, deep = draw.between(0.8, 1.2), draw.between(0.5, 0.9)
    s = draw.off(top, 28, 16)
    x = np.r_[-0.4 * np.linspace(1, 0, 7)[:-1], 1.4 * draw.along(draw.one(22, 28))]
    z = deep * (draw.off(deep, 24, 12) if what == "corner" else draw.along(draw.one(8, 12)))
    X, S, Z = np.meshgrid(x, s, z, indexing="ij")
    sweep, height = draw.between(0, 0.5), draw.between(0.03, 0.1)
    floor = {
        "ramp": np.maximum(X - 0.4 - sweep * Z, 0) * tan(radians(draw.between(4, 12))),
        "hill": height * np.exp(-(((X - 0.6) / 0.25) ** 2) - (Z / 0.4) ** 2),
    }.get(what, 0 * X)
    blocks = [np.stack([X, floor + (top - floor) * S, Z], -1)]

    def name(m, n):
        if abs(n[0]) > 0.99999 and (abs(m[0] - x[0]) < 1e-9 or abs(m[0] - x[-1]) < 1e-9):
            return "in" if m[0] < 0 else "out"
        if abs(n[2]) > 0.99999 and (m[2] < 1e-9 or m[2] > deep - 1e-9):
            return "symmetry" if m[2] > 1e-9 or what != "corner" or m[0] < 0 else "wall"
        return "far" if m[1] > 0.5 * top else "symmetry" if m[0] < 0 else "wall"

    sides = {"wall": draw.wall(mach), "symmetry": "symmetry", "far": "farfield", **draw.ends(mach)}
    return result(draw, blocks, name, mach, sides, False, lift="y", exact=what)


# ---- Cases -------------------------------------------------------------------------------------------------------------------------

KINDS = [ring, duct, nose, tail, pipe, ramp, wing, plate, base, ring, step, box, cone, duct, ring]
EXACT = {}


def text_of(name, grid, draw, made):
    """The case file."""
    mach, alpha = made["mach"], made.get("alpha", 0.0)
    parts = [f'[case]\ntitle = "{name}"\ndescription = "Drawn at random; default settings."']
    parts.append(f'[grid]\nfile = "g/{grid}.p3dfmt"' + (f"\nsplit = {made['split']}" if made.get("split") else ""))
    a = radians(alpha)
    if draw.slow:
        parts.append(f"[incompressible]\nviscosity = {1 / draw.re:.8g}\nvelocity = [{cos(a):.9f}, {sin(a):.9f}, 0.0]")
    else:
        kind = draw.kind if draw.kind in ("euler", "laminar") else "rans"
        parts.append(f'[flow]\nequations = "{kind}"\nmach = {mach}\nalpha = {alpha}' + (f"\nreynolds = {draw.re}" if draw.re else ""))
    if draw.kind in RANS:
        law = "" if draw.plus <= 1.5 else '\nwalls = "automatic"'
        parts.append(f'[turbulence]\nmodel = "{draw.kind}"{law}')
    area = made.get("area", 0.1 if draw.slow and made["planar"] else None)
    more = [f"area = {area:.9g}"] if area else []
    parts += ["[reference]\n" + "\n".join([*more, f'lift_axis = "{made["lift"]}"'] if "lift" in made else more)] if more or "lift" in made else []
    sides = {side: made["sides"][side] if side in made["sides"] else "symmetry" for side in made["markers"]}
    if draw.slow:
        sides = {side: f'{{ kind = "farfield", velocity = [{cos(a):.9f}, {sin(a):.9f}, 0.0] }}' if what == "farfield" else what for side, what in sides.items()}
    parts.append("[boundary]\n" + "\n".join(f"{side} = {what}" if what.startswith("{") else f'{side} = "{what}"' for side, what in sides.items()))
    parts.append("[march]\niterations = 400")
    parts.append(f'[output]\nfolder = "out/{name}"')
    return "\n\n".join(parts) + "\n"


def prepare(folder):
    (folder / "g").mkdir(exist_ok=True)
    for number in range(COUNT):
        kind = KINDS[number % len(KINDS)]
        grid = f"{kind.__name__}{SEED}_{number}"
        # Cells turned inside out are drawn again.
        for again in range(20):
            draw = Draw([SEED, number, again])
            made = kind(draw)
            if sound(made["blocks"]):
                break
        blocks = bent(draw, made["blocks"])
        if made["planar"]:
            blocks = [np.stack([np.concatenate([b, np.full((*b.shape[:2], 1), z)], 2) for z in (0.0, 0.1)], 2) for b in blocks]
        blocks = [turned(draw, b) for b in cut(draw, blocks)]
        named = (lambda m, n: "side" if abs(n[2]) > 0.5 else made["name"](m, n)) if made["planar"] else made["name"]
        made["markers"] = write(folder / "g" / grid, blocks, named)
        if len(blocks) == 1 and draw.one(True, False):
            axis = int(np.argmax(blocks[0].shape[:3]))
            made["split"] = [[0, axis, int(draw.rng.integers(3, blocks[0].shape[axis] - 4))]]
        speed = "slow" if draw.slow else f"m{str(made['mach']).replace('.', '')}"
        name = f"{grid}_{draw.kind.split('-')[0]}_{speed}"
        survey.CASES[name] = text_of(name, grid, draw, made)
        told = [made.get("exact", ""), f"y+ {draw.plus:.1f}" if draw.plus else "", f"{sum(np.prod(np.array(b.shape[:3]) - 1) for b in blocks)} cells"]
        EXACT[name] = ", ".join(word for word in told if word)


if __name__ == "__main__":
    survey.CASES.clear()
    survey.main(__doc__, prepare, EXACT)
