#!/usr/bin/env python3
"""Structured grids and flows on them with default settings: what `survey.py` is for meshes.

    python3 grids.py FOLDER [--program chromaflow] [--jobs 16] [--limit 120] [--only WORD] [KEY=VALUE...]

Nothing was tuned on these grids, and some of the flows may have no steady state. Needs numpy.
"""

import math
from pathlib import Path

import numpy as np

import survey
from kit import stretched
from survey import back, total

TAU = 2 * math.pi


# ---- Distributions -------------------------------------------------------------------------------------------------------------


def both_ends(n, strength=1.0):
    """Cosine spacing, blended with uniform."""
    t = np.arange(n + 1) / n
    return strength * 0.5 * (1 - np.cos(math.pi * t)) + (1 - strength) * t


# ---- Files ---------------------------------------------------------------------------------------------------------------------


class Grids:
    def __init__(self, folder):
        self.folder = folder
        self.made = set()

    def write(self, name, points, rows):
        """Points [ni, nj, nk, 3], of a plane [ni, nj, 2] (one layer of cells is made); rows of the map file: (type, face, ranges...)."""
        if points.shape[-1] == 2:
            ni, nj = points.shape[:2]
            width = 0.1
            layers = [np.concatenate([points, np.full((ni, nj, 1), z)], axis=2) for z in (0.0, width)]
            points = np.stack(layers, axis=2)
            rows = rows + [("side", 1), ("side", 2)]
        ni, nj, nk = points.shape[:3]
        ends = {1: (ni, nj), 2: (ni, nj), 3: (nj, nk), 4: (nj, nk), 5: (nk, ni), 6: (nk, ni)}
        lines = [f"# {name}", "1", f"1 {ni} {nj} {nk}"]
        for row in rows:
            kind, face, *rest = row
            if not rest:
                (a, b) = ends[face]
                rest = [1, a, 1, b]
            if len(rest) > 4:
                first, other, second, swap = rest[:4], rest[4], rest[5:9], rest[9] if len(rest) > 9 else "false"
                lines.append(f"{kind} 1 {face} {' '.join(map(str, first))} 1 {other} {' '.join(map(str, second))} {swap}")
            else:
                lines.append(f"{kind} 1 {face} {' '.join(map(str, rest))}")
        (self.folder / f"{name}.nmf").write_text("\n".join(lines) + "\n")
        with open(self.folder / f"{name}.p3dfmt", "w") as file:
            file.write(f"1\n{ni} {nj} {nk}\n")
            for d in range(3):
                np.savetxt(file, points[..., d].transpose(2, 1, 0).reshape(-1), fmt="%.15g")
        self.made.add(name)


def rings(inner, outer, s, upright=None):
    """Points between two curves [n, 2] at the parts `s` of the way, leaving the inner one along its normals; where `upright` [n] is 1,
    straight up or down."""
    tangent = np.gradient(inner, axis=0)
    if np.allclose(inner[0], inner[-1]):
        tangent[0] = tangent[-1] = tangent[0] + tangent[-1]
    normal = np.stack([tangent[:, 1], -tangent[:, 0]], axis=1)
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    way = outer - inner
    length = np.linalg.norm(way, axis=1, keepdims=True)
    normal *= np.sign((normal * way).sum(axis=1, keepdims=True))
    if upright is not None:
        normal = np.where(upright[:, None] == 1, 0, (1 - upright[:, None]) * normal) + upright[:, None] * [0, 1] * np.sign(way[:, 1:])
        normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    t = s[None, :, None]
    # Hermite: the slope at the wall is the normal's, as long as the way.
    blend = np.exp(-12 * t)
    assert np.isfinite(normal).all()
    straight = inner[:, None] + t * way[:, None]
    along = inner[:, None] + t * (length * normal)[:, None]
    return blend * along + (1 - blend) * straight


def naca(code, n, closed=True):
    """Points from the trailing edge over the lower side around the nose to the trailing edge, [2 n + 1, 2]."""
    m, p, t = int(code[0]) / 100, int(code[1]) / 10, int(code[2:]) / 100
    x = 0.5 * (1 - np.cos(math.pi * np.arange(n + 1) / n))
    last = -0.1036 if closed else -0.1015
    half = 5 * t * (0.2969 * np.sqrt(x) - 0.1260 * x - 0.3516 * x**2 + 0.2843 * x**3 + last * x**4)
    if m:
        fore = x < p
        camber = np.where(fore, m / p**2 * (2 * p * x - x * x), m / (1 - p) ** 2 * (1 - 2 * p + 2 * p * x - x * x))
    else:
        camber = 0 * x
    lower = np.stack([x, camber - half], axis=1)[::-1]
    upper = np.stack([x, camber + half], axis=1)[1:]
    return np.concatenate([lower, upper])


def make(grids):
    # O-grids: i around, j outward.
    def ring(name, inner, n_out, first, far, wall="wall"):
        n = len(inner)
        turn = np.cumsum(np.r_[0, np.linalg.norm(np.diff(inner, axis=0), axis=1)])
        angle = -TAU * (0.5 * turn / turn[-1] + 0.5 * np.arange(n) / (n - 1))
        outer = far * np.stack([np.cos(angle), np.sin(angle)], axis=1) + [0.5, 0]
        points = rings(inner, outer, stretched(n_out, first / far))
        points[-1] = points[0]
        nj = n_out + 1
        grids.write(name, points, [(wall, 5), ("far", 6), ("one-to-one", 3, 1, nj, 1, 2, 4, 1, nj, 1, 2)])

    around = -TAU * np.arange(129) / 128
    circle = np.stack([0.5 + 0.5 * np.cos(around), 0.5 * np.sin(around)], axis=1)
    ring("cyl", circle, 48, 8e-3, 20)
    ring("ellipse", np.stack([0.5 + 0.5 * np.cos(around), 0.15 * np.sin(around)], axis=1), 48, 4e-3, 20)
    for code in ("0012", "2412", "4415", "0021"):
        ring(f"o{code}", naca(code, 64), 48, 2e-3, 25)
        ring(f"o{code}v", naca(code, 80), 72, 8e-6, 25)

    # C-grids: i along the wake, around the airfoil and back, j outward.
    def c_grid(name, code, n_foil, n_wake, n_out, first, far):
        foil = naca(code, n_foil)
        wake = stretched(n_wake, 0.01 / far)[1:] * far
        behind = np.stack([1 + wake, 0 * wake], axis=1)
        inner = np.concatenate([behind[::-1], foil, behind])
        left = n_wake
        n = len(inner)
        outer = np.empty_like(inner)
        k = np.arange(len(foil)) / (len(foil) - 1)
        angle = -math.pi / 2 - math.pi * k
        outer[left : left + len(foil)] = np.stack([1 + far * np.cos(angle), far * np.sin(angle)], axis=1)
        outer[:left] = np.stack([1 + wake[::-1], np.full(n_wake, -far)], axis=1)
        outer[left + len(foil) :] = np.stack([1 + wake, np.full(n_wake, far)], axis=1)
        upright = np.clip((inner[:, 0] - 0.6) / 0.4, 0, 1) ** 2
        points = rings(inner, outer, stretched(n_out, first / far), upright)
        a, b = left + 1, left + len(foil)
        rows = [("far", 3), ("far", 4), ("far", 6), ("wall", 5, 1, 2, a, b), ("one-to-one", 5, 1, 2, 1, a, 5, 1, 2, n, b)]
        grids.write(name, points, rows)

    c_grid("c0012", "0012", 48, 24, 40, 3e-3, 20)
    c_grid("c4412v", "4412", 72, 32, 64, 1e-5, 20)

    # Front half of a cylinder: j from the body to the stream.
    t = math.pi * (0.5 + np.arange(49) / 48)
    body = 0.5 * np.stack([np.cos(t), np.sin(t)], axis=1)
    front = np.stack([1.3 * np.cos(t) + 0.0, 2.2 * np.sin(t)], axis=1)
    for name, first, n in (("blunt", 0.02, 40), ("bluntv", 2e-4, 56)):
        s = stretched(n, first)
        points = body[:, None] + s[None, :, None] * (front - body)[:, None]
        grids.write(name, points, [("out", 3), ("out", 4), ("wall", 5), ("far", 6)])

    # Channels: i along, j up.
    def channel(name, xs, low, high, s, rows=None):
        points = np.stack(
            [
                np.broadcast_to(xs[:, None], (len(xs), len(s))),
                low[:, None] * (1 - s)[None] + high[:, None] * s[None],
            ],
            axis=2,
        )
        grids.write(name, points, rows or [("in", 3), ("out", 4), ("low", 5), ("high", 6)])

    x = np.linspace(-1.5, 2.5, 129)
    bump = np.where(abs(x - 0.5) < 0.5, 0.1 * np.sin(math.pi * np.clip(x, 0, 1)) ** 2, 0)
    channel("bump", x, bump, 1 + 0 * x, np.linspace(0, 1, 41))
    x = np.linspace(-0.5, 1.5, 97)
    channel("ramp", x, np.maximum(x, 0) * math.tan(math.radians(15)), 1.2 + 0 * x, np.linspace(0, 1, 49))
    channel("rampv", x, np.maximum(x, 0) * math.tan(math.radians(8)), 1.2 + 0 * x, stretched(72, 5e-5))
    x = np.linspace(0, 3, 121)
    wall = 0.5 - 0.2 * np.exp(-(((x - 1.2) / 0.4) ** 2)) + 0.08 * np.tanh((x - 1.8) / 0.4)
    channel("nozzle", x, 0 * x, wall, np.linspace(0, 1, 33))
    channel("nozzlev", x, 0 * x, wall, 1 - stretched(64, 3e-5)[::-1])
    x = np.linspace(0, 4, 97)
    channel("diffuser", x, 0 * x, 0.5 + 0.25 * (1 + np.tanh(2 * (x - 1.5))) / 2, 1 - stretched(48, 2e-3)[::-1])
    x = np.concatenate([-0.3 * stretched(24, 0.02)[::-1], stretched(64, 0.004)[1:] * 1.2])
    plate = (np.r_[0, np.nonzero(x >= 0)[0]][1]) + 1
    for name, first in (("plate", 4e-4), ("platev", 4e-6)):
        rows = [("in", 3), ("out", 4), ("sym", 5, 1, 2, 1, plate), ("low", 5, 1, 2, plate, len(x)), ("high", 6)]
        channel(name, x, 0 * x, 1 + 0 * x, stretched(64, first), rows)
    s = both_ends(40, 0.8)
    channel("cavity", both_ends(40, 0.8), np.zeros(41), np.ones(41), s)
    # A cascade: sides periodic ahead of the blades and behind them.
    x = np.concatenate([-1.0 * stretched(20, 0.02)[::-1], 0.5 * (1 - np.cos(math.pi * np.arange(1, 49) / 48)), 1 + 1.2 * stretched(28, 0.01)[1:]])
    c = np.clip(x, 0, 1)
    half = 0.4 * (0.2969 * np.sqrt(c) - 0.1260 * c - 0.3516 * c**2 + 0.2843 * c**3 - 0.1036 * c**4)
    camber = np.where(x < 1, 0.2 * c * c, 0.2 + 0.4 * (x - 1))
    ni, a, b = len(x), 21, 69
    rows = [("in", 3), ("out", 4), ("wall", 5, 1, 2, a, b), ("wall", 6, 1, 2, a, b)]
    for first, last in ((1, a), (b, ni)):
        rows.append(("periodic", 5, 1, 2, first, last, 6, 1, 2, first, last))
    channel("cascade", x, camber + half, camber + 0.8 - half, both_ends(32, 0.5), rows)

    # In space: a bend, a swept wing between walls, the front of a sphere.
    t = np.linspace(0, 1, 65)
    angle = np.clip((t - 0.3) / 0.4, 0, 1) * math.pi / 2
    start, end = np.clip(0.3 - t, 0, None) / 0.3 * 1.5, np.clip(t - 0.7, 0, None) / 0.3 * 1.5
    s = both_ends(16, 0.5) - 0.5
    r = 1.5 + s
    points = np.empty((65, 17, 17, 3))
    for j in range(17):
        points[:, j, :, 0] = (r[j] * np.sin(angle) - start + 0 * angle)[:, None]
        points[:, j, :, 1] = (r[j] * np.cos(angle) - end)[:, None]
        points[:, j, :, 2] = s[None, :]
    points = points[:, ::-1]
    grids.write("bend", points, [("in", 3), ("out", 4)] + [("wall", f) for f in (5, 6, 1, 2)])

    foil = naca("0012", 32)
    n = len(foil)
    turn = -TAU * np.arange(n) / (n - 1)
    outer = 12 * np.stack([np.cos(turn), np.sin(turn)], axis=1) + [0.5, 0]
    plane = rings(foil, outer, stretched(28, 4e-4))
    plane[-1] = plane[0]
    span = np.linspace(0, 2, 13)
    points = np.empty((n, 29, 13, 3))
    for k, z in enumerate(span):
        chord = 1 - 0.2 * z
        points[:, :, k, 0] = plane[..., 0] * chord + z * math.tan(math.radians(30))
        points[:, :, k, 1] = plane[..., 1] * chord
        points[:, :, k, 2] = z
    rows = [("wall", 5), ("far", 6), ("sym", 1), ("sym", 2), ("one-to-one", 3, 1, 29, 1, 13, 4, 1, 29, 1, 13)]
    grids.write("swept", points, rows)

    a = np.tan(np.linspace(-1, 1, 21) * math.pi / 4.5)
    u, v = np.meshgrid(a, a, indexing="ij")
    d = np.stack([-np.ones_like(u), u, v], axis=2)
    d /= np.linalg.norm(d, axis=2, keepdims=True)
    s = stretched(28, 0.02)
    shock = 0.5 * (1 + 0.45 * (1 + 1.5 * (1 + d[..., 0])))
    points = d[:, :, None] * (0.5 + s[None, None, :, None] * (shock - 0.5)[:, :, None, None])
    grids.write("ball", points.copy(), [("out", 3), ("out", 4), ("out", 5), ("out", 6), ("wall", 1), ("far", 2)])


# ---- Flows ---------------------------------------------------------------------------------------------------------------------

PLANE = {"side": "symmetry"}
FOIL = {"wall": "body", "far": "farfield", **PLANE}


def case(name, grid, *args, **named):
    survey.case(name, grid, *args, **named)
    text = survey.CASES[name]
    survey.CASES[name] = text.replace(f'[mesh]\nfile = "m/{grid}.msh"', f'[grid]\nfile = "g/{grid}.p3dfmt"')


def cases():
    case("cyl_lam_re40", "cyl", 0.2, FOIL, re=40)
    case("cyl_euler_m3", "cyl", 3.0, FOIL)
    case("ellipse_lam_re500", "ellipse", 0.3, FOIL, re=500)
    case("ellipse_euler_m14", "ellipse", 1.4, FOIL)
    for code, mach, alpha in (("0012", 0.3, 4), ("0012", 0.8, 1.25), ("0012", 0.85, 1), ("0012", 1.2, 0), ("0012", 0.05, 3), ("2412", 0.6, 2), ("2412", 0.75, 1), ("4415", 0.2, 8), ("4415", 0.65, 1), ("0021", 0.4, 5), ("0021", 2.0, 3)):
        case(f"o{code}_euler_m{mach:g}".replace(".", ""), f"o{code}", mach, FOIL, alpha)
    for code, mach, alpha, re, model in (
        ("0012", 0.5, 0, 5e3, None),
        ("2412", 0.15, 5, 3e6, "sa-neg"),
        ("2412", 0.15, 5, 3e6, "sst"),
        ("4415", 0.3, 10, 2e6, "sa-neg"),
        ("0012", 0.76, 2, 6e6, "sa-neg"),
        ("0021", 0.2, 4, 1e6, "sa-neg"),
        ("0021", 0.2, 4, 1e6, "sst"),
        ("0012", 1.5, 2, 5e6, "sa-neg"),
    ):
        case(f"o{code}_{model or 'lam'}_m{mach:g}_a{alpha}".replace(".", ""), f"o{code}v", mach, FOIL, alpha, re, model=model)
    case("c0012_euler_m05", "c0012", 0.5, FOIL, 2)
    case("c0012_euler_m08", "c0012", 0.8, FOIL, 1.25)
    case("c4412_sa_m02", "c4412v", 0.2, FOIL, 6, 2e6, model="sa-neg")
    case("c4412_sst_m02", "c4412v", 0.2, FOIL, 6, 2e6, model="sst")
    case("c4412_sa_m07", "c4412v", 0.7, FOIL, 0, 5e6, model="sa-neg")
    front = {"wall": "body", "far": "farfield", "out": "extrapolation"}
    for mach in (2, 4, 8, 15):
        case(f"blunt_euler_m{mach}", "blunt", mach, {**front, **PLANE})
    case("blunt_lam_m6", "bluntv", 6, {**front, **PLANE}, re=1e5)
    case("blunt_sa_m5", "bluntv", 5, {**front, **PLANE}, re=1e6, model="sa-neg")
    case("ball_euler_m3", "ball", 3, front)
    case("ball_euler_m8", "ball", 8, front)
    duct = {"low": "body", "high": "body", **PLANE}
    for mach in (0.1, 0.5, 0.675):
        p, _ = survey.isentropic(mach)
        case(f"bump_euler_m{mach:g}".replace(".", ""), "bump", mach, {"in": total(mach), "out": back(), **duct})
    case("bump_euler_m165", "bump", 1.65, {"in": "farfield", "out": "extrapolation", **duct})
    over = {"in": "farfield", "out": "extrapolation", "low": "body", "high": "farfield", **PLANE}
    case("ramp_euler_m25", "ramp", 2.5, over)
    case("ramp_euler_m6", "ramp", 6, over)
    case("ramp_lam_m3", "rampv", 3, over, re=2e4)
    case("ramp_sa_m3", "rampv", 3, over, re=5e6, model="sa-neg")
    axis = {"low": "symmetry", "high": "body", **PLANE}
    case("nozzle_euler_subsonic", "nozzle", 0.3, {"in": total(0.3), "out": back(0.98), **axis})
    case("nozzle_euler_shock", "nozzle", 0.3, {"in": total(0.3), "out": back(0.8), **axis})
    case("nozzle_euler_supersonic", "nozzle", 0.3, {"in": total(0.3), "out": "extrapolation", **axis})
    case("nozzle_sa_shock", "nozzlev", 0.3, {"in": total(0.3), "out": back(0.8), **axis}, re=2e6, model="sa-neg")
    case("diffuser_lam", "diffuser", 0.2, {"in": total(0.2), "out": back(), **axis}, re=400)
    flat = {"in": total(0.2), "out": back(), "sym": "symmetry", "low": "body", "high": "symmetry", **PLANE}
    case("plate_lam_m02", "plate", 0.2, flat, re=1e5)
    case("plate_sa_m02", "platev", 0.2, flat, re=5e6, model="sa-neg")
    case("plate_sst_m02", "platev", 0.2, flat, re=5e6, model="sst")
    fast = {**over, "sym": "symmetry"}
    case("plate_lam_m2", "plate", 2, fast, re=1e5)
    case("plate_sa_m2", "platev", 2, fast, re=5e6, model="sa-neg")
    case("plate_sa_m5_cold", "platev", 5, {**fast, "low": '{ kind = "no_slip", temperature = 3.0 }'}, re=5e6, model="sa-neg")
    case("plate_komega_m02", "platev", 0.2, flat, re=5e6, model="k-omega")
    still, moved = '{ kind = "no_slip", temperature = 1.0 }', '{ kind = "moving_wall", velocity = [0.1, 0.0, 0.0], temperature = 1.0 }'
    lid = {"in": still, "out": still, "low": still, "high": moved, **PLANE}
    case("cavity_lam_re400", "cavity", 0.1, lid, re=400)
    blades = {"in": total(0.5), "out": back(), "wall": "body", **PLANE}
    case("cascade_euler_m05", "cascade", 0.5, blades)
    case("cascade_euler_m08", "cascade", 0.8, {**blades, "in": total(0.8)})
    case("bend_euler_m03", "bend", 0.3, {"in": total(0.3), "out": back(), "wall": "body"})
    case("bend_lam_m02", "bend", 0.2, {"in": total(0.2), "out": back(), "wall": "body"}, re=500)
    wing = {"wall": "body", "far": "farfield", "sym": "symmetry"}
    case("swept_euler_m05", "swept", 0.5, wing, 3)
    case("swept_euler_m085", "swept", 0.85, wing, 2)


def prepared(folder, make, cases):
    """Makes the grids, and the cases on them in the place of the survey's."""
    place = Path(folder) / "g"
    place.mkdir(parents=True, exist_ok=True)
    make(Grids(place))
    survey.CASES.clear()
    cases()


if __name__ == "__main__":
    survey.main(__doc__, lambda folder: prepared(folder, make, cases))
