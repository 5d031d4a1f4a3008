#!/usr/bin/env python3
"""Flows on structured grids that `grids.py` has not: several blocks that meet in any orientation, sectors that reach their axis, walls that move,
corners, flaps, deep channels, Mach 0.05 to 8, all models of turbulence; default settings.

    python3 grids_further.py FOLDER [--program chromaflow] [--jobs 16] [--limit 120] [--only WORD] [KEY=VALUE...]

What theory gives stands in the last column. Nothing was tuned on these grids. Needs numpy.
"""

import itertools
import math

import numpy as np

import survey
from grids import PLANE, TAU, both_ends, case, naca, prepared, rings
from kit import stretched
from others import expanded_pressure, wedge_pressure
from survey import back, total

EXACT = {}
# Faces of a neutral map by number: axis, end, and the axes of their ranges.
FACES = {1: (2, 0, (0, 1)), 2: (2, -1, (0, 1)), 3: (0, 0, (1, 2)), 4: (0, -1, (1, 2)), 5: (1, 0, (2, 0)), 6: (1, -1, (2, 0))}


# ---- Blocks --------------------------------------------------------------------------------------------------------------------


def on_face(points, face):
    """Points of a face by its two ranges."""
    axis, end, (a, b) = FACES[face]
    rest = [d for d in range(3) if d != axis]
    plane = np.take(points, end, axis=axis)
    return plane if rest == [a, b] else plane.swapaxes(0, 1)


def meeting(one, other):
    """How points of two faces are the same: whether each range of the other runs back, and whether they are swapped; none if they are not."""
    for swap, (back_a, back_b) in itertools.product((False, True), itertools.product((False, True), repeat=2)):
        turned = other[::-1] if back_a else other
        turned = turned[:, ::-1] if back_b else turned
        turned = turned.swapaxes(0, 1) if swap else turned
        if turned.shape == one.shape and np.abs(turned - one).max() < 1e-9 * np.ptp(one.reshape(-1, 3), axis=0).max():
            return back_a, back_b, swap
    return None


def write(grids, name, blocks, named, deep=0.1):
    """Blocks of points [ni, nj, nk, 3], or of a plane [ni, nj, 2], which become one layer of cells; whole faces that have the same points meet, others
    are `named`, {(block, face): name}, or (block, face) of the face that one is a copy of, which has nothing."""
    whole, rows = [], []
    for b, points in enumerate(blocks):
        if points.shape[-1] == 2:
            points = np.stack([np.concatenate([points, np.full((*points.shape[:2], 1), z)], axis=2) for z in (0.0, deep)], axis=2)
            named = {**named, (b, 1): "side", (b, 2): "side"}
        whole.append(points)
    faces = [(b, f) for b in range(len(whole)) for f in FACES]
    words = lambda n, reverse=False: f"{n} 1" if reverse else f"1 {n}"
    met = set()
    for n, (b, f) in enumerate(faces):
        one = on_face(whole[b], f)
        if (b, f) in named:
            what = named[b, f]
            ranges = f"{b + 1} {f} {words(one.shape[0])} {words(one.shape[1])}"
            if isinstance(what, str):
                rows.append(f"{what} {ranges}")
            elif what:
                c, g = what
                rows.append(f"periodic {ranges} {c + 1} {g} {words(one.shape[0])} {words(one.shape[1])} false")
            continue
        for c, g in faces[n + 1 :]:
            if (b, f) in met or (c, g) in named or (how := meeting(one, on_face(whole[c], g))) is None:
                continue
            back_a, back_b, swap = how
            to = on_face(whole[c], g).shape
            rows.append(
                f"one-to-one {b + 1} {f} {words(one.shape[0])} {words(one.shape[1])} {c + 1} {g} "
                f"{words(to[0], back_a)} {words(to[1], back_b)} {'true' if swap else 'false'}"
            )
            met |= {(b, f), (c, g)}
        assert (b, f) in met, f"{name}: nothing is said of face {f} of block {b}"
    sizes = [" ".join(map(str, points.shape[:3])) for points in whole]
    head = [f"# {name}", str(len(whole))] + [f"{b + 1} {size}" for b, size in enumerate(sizes)]
    (grids.folder / f"{name}.nmf").write_text("\n".join(head + rows) + "\n")
    with open(grids.folder / f"{name}.p3dfmt", "w") as file:
        file.write("\n".join([str(len(whole)), *sizes]) + "\n")
        for points in whole:
            for d in range(3):
                np.savetxt(file, points[..., d].transpose(2, 1, 0).reshape(-1), fmt="%.15g")


def between(low, high, s):
    """Points between two curves [n, 2] at the parts `s` of the way."""
    return low[:, None] * (1 - s)[None, :, None] + high[:, None] * s[None, :, None]


def line(x, y):
    return np.stack(np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float)), axis=-1)


def turned(points, axes, reverse=()):
    """A block in other axes."""
    return np.flip(points, reverse).transpose(*axes, 2) if reverse else points.transpose(*axes, 2)


def around_axis(plane, degrees=4.0):
    """A plane (x, r) as a sector of one cell around the x axis."""
    angles = np.radians([-degrees / 2, degrees / 2])
    x, r = plane[..., 0], plane[..., 1]
    return np.stack([np.stack([x, r * math.cos(a), r * math.sin(a)], axis=-1) for a in angles], axis=2)


def make(grids):
    # Inviscid turns: a wedge of 10 degrees, a corner of 12 degrees away from the stream, in blocks.
    x = np.linspace(-0.4, 1, 71)
    for name, degrees in (("wedge10", 10), ("away12", -12)):
        floor = line(x, np.maximum(x, 0) * math.tan(math.radians(degrees)))
        points = between(floor, line(x, 1.0), np.linspace(0, 1, 49))
        named = {(0, 3): "in", (0, 5): "flat", (0, 6): "high", (1, 4): "out", (1, 5): "low", (1, 6): "high"}
        blocks = [points[:21], points[20:]]
        if degrees < 0:  # the second runs along j, backwards
            blocks[1] = turned(blocks[1], (1, 0), (0,))
            named = {(0, 3): "in", (0, 5): "flat", (0, 6): "high", (1, 5): "out", (1, 3): "low", (1, 4): "high"}
        write(grids, name, blocks, named)
    # The same corners with layers: against the stream, away from it.
    x = np.concatenate([-1.0 * stretched(40, 0.004)[::-1], 1.0 * stretched(64, 0.003)[1:]])
    for name, degrees in (("cornerv", 15), ("backv", -15)):
        floor = line(x, np.maximum(x, 0) * math.tan(math.radians(degrees)))
        points = between(floor, line(x, 0.8), stretched(72, 2e-4))
        write(grids, name, [points], {(0, 3): "in", (0, 4): "out", (0, 5): "low", (0, 6): "high"})
    # A ramp that falls smoothly by a fifth of the height of the channel.
    x = np.linspace(-1, 3, 121)
    fall = line(x, -0.1 * (1 + np.tanh(4 * (x - 0.5))))
    points = between(fall, line(x, 1.0), stretched(72, 2e-5))
    write(grids, "fallv", [points[:50], points[49:]], {(0, 3): "in", (1, 4): "out", **{(b, 5): "low" for b in (0, 1)}, **{(b, 6): "high" for b in (0, 1)}})
    # A nozzle of areas 1, 0.6, 0.9, its lower half, and the same with a layer.
    x = np.linspace(0, 3, 97)
    half = np.where(x < 1, 1 - 0.2 * (1 - np.cos(math.pi * np.clip(x, 0, 1))), 0.6 + 0.15 * (1 - np.cos(math.pi * (np.clip(x, 1, 3) - 1) / 2)))
    for name, s in (("laval", np.linspace(0, 1, 25)), ("lavalv", 1 - stretched(56, 5e-5)[::-1])):
        write(grids, name, [between(line(x, 0.0), line(x, half), s)], {(0, 3): "in", (0, 4): "out", (0, 5): "low", (0, 6): "wall"})
    # A straight diffuser of 4 degrees behind a channel.
    x = np.linspace(-1, 4, 111)
    roof = line(x, 0.4 + np.maximum(x, 0) * math.tan(math.radians(4)))
    write(grids, "diffv", [between(line(x, 0.0), roof, 1 - stretched(56, 5e-5)[::-1])], {(0, 3): "in", (0, 4): "out", (0, 5): "low", (0, 6): "wall"})
    # Couette: long sides meet by a translation; walls above and below.
    points = between(line(np.linspace(0, 1, 13), 0.0), line(np.linspace(0, 1, 13), 1.0), both_ends(40, 0.6))
    write(grids, "couette", [points], {(0, 3): (0, 4), (0, 4): (), (0, 5): "low", (0, 6): "high"})
    # A cavity in four blocks, each otherwise.
    e = both_ends(64, 0.9)
    points = between(line(e, 0.0), line(e, 1.0), e)
    parts = [points[:33, :33], points[32:, :33], points[:33, 32:], points[32:, 32:]]
    blocks = [parts[0], turned(parts[1], (1, 0), (0,)), turned(parts[2], (0, 1), (0, 1)), turned(parts[3], (1, 0), (1,))]
    named = {(0, 3): "low", (0, 5): "low", (1, 5): "low", (1, 3): "low", (2, 4): "low", (2, 5): "lid", (3, 6): "low", (3, 3): "lid"}
    write(grids, "cavity4", blocks, named)

    # Around bodies: an O-grid of four blocks that meet ring to ring, in blocks of a channel.
    a = TAU / 8 + TAU * np.arange(4 * 32 + 1) / 128
    circle = 0.5 * line(np.cos(a), np.sin(a))
    square = np.concatenate([line(np.cos(a[:-1]), np.sin(a[:-1])), [[math.cos(a[0]), math.sin(a[0])]]])
    square = 2.0 * square / np.abs(square).max(axis=1, keepdims=True)
    ring = between(circle, square, stretched(32, 0.01))
    ring[-1] = ring[0]
    quarters = [ring[32 * q : 32 * q + 33] for q in range(4)]
    far = stretched(24, 0.1 / 18)
    xl, xr = -2 - 18 * far[::-1], 2 + 18 * far
    edge = quarters[2][:, -1]  # below: from the left to the right
    steps = {"left": xl, "mid": edge[:, 0], "right": xr}
    heights = {"low": xl, "mid": quarters[3][:, -1][:, 1], "high": xr}
    blocks, named, number = list(quarters), {(q, 5): "wall" for q in range(4)}, 4
    for (column, xs), (row, ys) in itertools.product(steps.items(), heights.items()):
        if (column, row) == ("mid", "mid"):
            continue
        blocks.append(between(line(xs, ys[0]), line(xs, ys[-1]), (ys - ys[0]) / (ys[-1] - ys[0])))
        named |= {(number, 3): "far"} if column == "left" else {(number, 4): "far"} if column == "right" else {}
        named |= {(number, 5): "far"} if row == "low" else {(number, 6): "far"} if row == "high" else {}
        number += 1
    write(grids, "cylblocks", blocks, named)
    # O-grids with other distributions, of airfoils with thickness elsewhere.
    for name, code, n, first, reach in (("o0015s", "0015", 72, 4e-6, 60), ("o1410s", "1410", 96, 1e-5, 30)):
        foil = naca(code, n)
        turn = TAU * np.arange(len(foil)) / (len(foil) - 1)
        plane = rings(foil, reach * line(np.cos(turn), -np.sin(turn)) + [0.5, 0], stretched(80, first / reach))
        plane[-1] = plane[0]
        middle = len(foil) // 2 + 7
        write(grids, name, [plane[: middle + 1], turned(plane[middle:], (1, 0), (0,))], {(0, 5): "wall", (0, 6): "far", (1, 3): "wall", (1, 4): "far"})
    # Cylinders with their wakes: coarse and near, fine, in thousandths; an ellipse across the stream.
    for name, around, out, first, reach, scale, deep in (
        ("cylcoarse", 96, 40, 2e-2, 12, 1, 0.5),
        ("cylfine", 160, 64, 4e-3, 20, 1, 0.5),
        ("cylsmall", 128, 48, 8e-3, 20, 1e-3, 0.5),
        ("across", 128, 48, 8e-3, 20, 1, 0.8),
    ):
        turn = TAU * np.arange(around + 1) / around
        plane = rings(line(0.5 * np.cos(turn), -deep * np.sin(turn)), reach * line(np.cos(turn), -np.sin(turn)), stretched(out, first / reach))
        plane[-1] = plane[0]
        middle = around // 2
        parts = [scale * plane[: middle + 1], scale * plane[middle:]]
        write(grids, name, parts, {(b, f): what for b in (0, 1) for f, what in ((5, "wall"), (6, "far"))}, 0.1 * scale)
    # A diamond of 8 degrees between blocks above and below, ahead and behind.
    x = [np.linspace(-0.6, 0, 31), np.linspace(0, 1, 61), np.linspace(1, 1.8, 41)]
    blocks, named = [], {}
    for n, xs in enumerate(x):
        y = np.where((xs > 0) & (xs < 1), (0.5 - abs(xs - 0.5)) * math.tan(math.radians(8)), 0)
        for up in (1, -1):
            b, (near, distant) = len(blocks), (5, 6) if up > 0 else (6, 5)
            points = between(line(xs, up * y), line(xs, up * 1.2), np.linspace(0, 1, 49))
            blocks.append(points if up > 0 else points[:, ::-1])
            named |= {(b, distant): "far"} | ({(b, near): "wall"} if n == 1 else {})
            named |= {(b, 3): "far"} if n == 0 else {(b, 4): "out"} if n == 2 else {}
    write(grids, "diamond", blocks, named)

    # Sectors that reach the axis: a cone, a blunted cone with a layer, a pipe.
    s = np.linspace(0, 1, 49)
    x = np.concatenate([-0.1 * np.linspace(1, 0, 9)[:-1], np.linspace(0, 1, 61)])
    cone = between(line(x, np.maximum(x, 0) * math.tan(math.radians(15))), line(x, 0.9), s)
    named = {(0, 1): "left", (0, 2): "right"}
    write(grids, "cone15", [around_axis(cone[8:])], {**named, (0, 3): "in", (0, 4): "out", (0, 5): "wall", (0, 6): "far"})
    angle, radius, half = np.linspace(0, 1, 33) ** 1.0 * math.radians(81), 0.1, math.radians(9)
    nose = line(radius * (1 - np.cos(angle)), radius * np.sin(angle))
    rest = np.linspace(0, 1, 33)[1:] ** 1.4 * 0.7
    body = np.concatenate([nose, nose[-1] + rest[:, None] * [math.cos(half), math.sin(half)]])
    normal = np.concatenate([line(-np.cos(angle), np.sin(angle)), np.broadcast_to([-math.sin(half), math.cos(half)], (32, 2))])
    way = np.concatenate([np.arange(33) / 32 * 0.12, 0.12 + rest])
    reach = 0.045 + 0.42 * way
    plane = body[:, None] + (stretched(64, 1e-4)[None, :] * reach[:, None])[..., None] * normal[:, None]
    plane[0, :, 1] = 0.0
    write(grids, "bluntcone", [around_axis(plane)], {**named, (0, 3): "axis", (0, 4): "out", (0, 5): "wall", (0, 6): "far"})
    pipe = between(line(np.linspace(0, 6, 61), 0.0), line(np.linspace(0, 6, 61), 0.5), 1 - stretched(40, 2e-3)[::-1])
    write(grids, "pipe", [around_axis(pipe)], {**named, (0, 3): "in", (0, 4): "out", (0, 5): "axis", (0, 6): "wall"})


# ---- Flows ---------------------------------------------------------------------------------------------------------------------

FOIL = {"wall": "body", "far": "farfield", **PLANE}


def flow(name, *args, exact="", **named):
    case(name, *args, **named)
    if exact:
        EXACT[name] = exact


def nozzle_push(exit_over_throat=1.5):
    """Pressure over the free stream's on the upper wall of `laval` less that of the stream, along x, of one-dimensional flow choked at 0.6."""
    p0, push = survey.isentropic(0.3)[0], 0.0
    half = lambda x: 1 - 0.2 * (1 - math.cos(math.pi * x)) if x < 1 else 0.6 + 0.15 * (1 - math.cos(math.pi * (x - 1) / 2))
    for k in range(3000):
        (a, b), x = (half(k / 1000), half((k + 1) / 1000)), (k + 0.5) / 1000
        ratio, (low, high) = half(x) / 0.6, (1e-6, 1.0) if x < 1 else (1.0, 5.0)
        for _ in range(60):
            m = 0.5 * (low + high)
            over = ((1 + 0.2 * m * m) / 1.2) ** 3 / m
            low, high = (m, high) if (over > ratio) == (x < 1) else (low, m)
        push += (p0 / survey.isentropic(m)[0] - 1) * (a - b)
    return push


def cases():
    q = lambda mach: 0.7 * mach**2
    over = {"in": "farfield", "out": "extrapolation", "low": "body", "flat": "body", "high": "farfield", **PLANE}
    rise = math.tan(math.radians(10))
    for mach in (2, 3.5):
        flow(f"wedge10_euler_m{mach:g}".replace(".", ""), "wedge10", mach, over, exact=f"cd {(wedge_pressure(mach, 10) - 1) * rise / q(mach):.5f} (oblique shock)")
        lost = (1 - expanded_pressure(mach, 12)) * math.tan(math.radians(12)) / q(mach)
        flow(f"away12_euler_m{mach:g}".replace(".", ""), "away12", mach, over, exact=f"cd {lost:.5f} (Prandtl-Meyer)")
    fast = {key: what for key, what in over.items() if key != "flat"}
    flow("corner_lam_m3", "cornerv", 3, fast, re=3e4)
    flow("corner_lam_m8", "cornerv", 8, {**fast, "low": '{ kind = "no_slip", temperature = 4.0 }'}, re=5e4)
    flow("corner_sst_m3", "cornerv", 3, fast, re=1e6, model="sst")
    flow("back_lam_m2", "backv", 2, fast, re=3e4)
    flow("back_sa_m3", "backv", 3, fast, re=1e6, model="sa-neg")
    inside = {"in": total(0.2), "out": back(), **PLANE}
    for model in ("sa-neg", "sst"):
        word = model[:2] + ("t" if model == "sst" else "")
        flow(f"fall_{word}_m02", "fallv", 0.2, {**inside, "low": "body", "high": "symmetry"}, re=1e6, model=model)
        flow(f"diff_{word}_m02", "diffv", 0.2, {**inside, "low": "symmetry", "wall": "body"}, re=1e6, model=model)
    p0 = survey.isentropic(0.3)[0]
    jet = {"in": total(0.3), "wall": "body", "low": "symmetry", **PLANE}
    flow("laval_euler_supersonic", "laval", 0.3, {**jet, "out": "extrapolation"}, exact=f"cd {nozzle_push() / q(0.3):.4f} (one-dimensional)")
    flow("laval_euler_shock", "laval", 0.3, {**jet, "out": back(0.72 * p0)})
    flow("laval_sst_shock", "lavalv", 0.3, {**jet, "out": back(0.72 * p0)}, re=1e6, model="sst")
    flow("laval_komega_sub", "lavalv", 0.3, {**jet, "out": back(0.93 * p0)}, re=1e6, model="k-omega")
    for mach in (0.3, 2.0):
        moved = f'{{ kind = "moving_wall", velocity = [{mach}, 0.0, 0.0], temperature = 1.0 }}'
        sides = {"low": '{ kind = "no_slip", temperature = 1.0 }', "high": moved, **PLANE}
        flow(f"couette_lam_m{mach:g}".replace(".", ""), "couette", mach, sides, re=100)
    still, lid = '{ kind = "no_slip", temperature = 1.0 }', '{ kind = "moving_wall", velocity = [0.1, 0.0, 0.0], temperature = 1.0 }'
    flow("cavity4_lam_re1000", "cavity4", 0.1, {"low": still, "lid": lid, **PLANE}, re=1000)
    flow("cylblocks_lam_re40", "cylblocks", 0.2, FOIL, re=40, exact="cd 1.52 to 1.56 (Re 40)")
    flow("cylblocks_lam_re20", "cylblocks", 0.1, FOIL, re=20, exact="cd 2.0 to 2.1 (Re 20)")
    for mach, alpha, model in ((0.05, 4, "sa-neg"), (0.5, 2, "sa-neg"), (0.73, 2, "sa-neg"), (1.4, 1, "sa-neg"), (0.5, 2, "sst"), (0.73, 1, "sst")):
        word = model[:2] + ("t" if model == "sst" else "")
        flow(f"o0015s_{word}_m{mach:g}".replace(".", ""), "o0015s", mach, FOIL, alpha, 3e6, model=model)
    flow("o1410s_sa_m08", "o1410s", 0.8, FOIL, 0, 2e6, model="sa-neg")
    flow("o1410s_komega_m03", "o1410s", 0.3, FOIL, 3, 2e6, model="k-omega")
    front = wedge_pressure(2, 8)
    rear = front * expanded_pressure(mach_behind(2, 8), 16)
    flow("diamond_euler_m2", "diamond", 2, {**FOIL, "out": "extrapolation"}, exact=f"cd {(front - rear) * math.tan(math.radians(8)) / q(2):.5f} (shock and expansion)")
    # Near vacuum behind shoulders, and wakes.
    for mach in (3, 5):
        flow(f"cylcoarse_euler_m{mach}", "cylcoarse", mach, FOIL)
    for mach, alpha in ((2, 0), (3, 0), (3.1, 0.1), (6, 0)):
        flow(f"cylfine_euler_m{mach:g}".replace(".", ""), "cylfine", mach, FOIL, alpha)
    flow("cylsmall_euler_m4", "cylsmall", 4, FOIL, area=1e-3)
    flow("across_euler_m25", "across", 2.5, FOIL, 1, area=1.6)
    sector = {"left": "symmetry", "right": "symmetry", "axis": "symmetry"}
    cone = {**sector, "in": "farfield", "far": "farfield", "out": "extrapolation", "wall": "body"}
    base = math.tan(math.radians(15)) ** 2 * math.sin(math.radians(2)) * math.cos(math.radians(2))
    del cone["axis"]
    flow("cone15_euler_m2", "cone15", 2, cone, area=base, exact="cd 0.2022 (Taylor-Maccoll)")
    flow("cone15_euler_m8", "cone15", 8, cone, area=base, exact="cd 0.1461 (Taylor-Maccoll)")
    blunt = {**sector, "far": "farfield", "out": "extrapolation", "wall": '{ kind = "no_slip", temperature = 3.0 }'}
    flow("bluntcone_lam_m6", "bluntcone", 6, blunt, re=1e5)
    flow("bluntcone_sst_m6", "bluntcone", 6, blunt, re=3e6, model="sst")
    flow("bluntcone_sa_m6", "bluntcone", 6, blunt, re=3e6, model="sa-neg")
    pipe = {**sector, "in": total(0.1), "out": back(), "wall": "body"}
    flow("pipe_lam_re200", "pipe", 0.1, pipe, re=200)
    flow("pipe_sst_m01", "pipe", 0.1, pipe, re=1e5, model="sst")


def mach_behind(mach, degrees):
    """Mach number behind an attached oblique shock that turns the stream so far."""
    ratio = wedge_pressure(mach, degrees)
    normal = math.sqrt((ratio - 1) * 2.4 / 2.8 + 1)
    shock, after = math.asin(normal / mach), math.sqrt((1 + 0.2 * normal**2) / (1.4 * normal**2 - 0.2))
    return after / math.sin(shock - math.radians(degrees))


if __name__ == "__main__":
    survey.main(__doc__, lambda folder: prepared(folder, make, cases), EXACT)
