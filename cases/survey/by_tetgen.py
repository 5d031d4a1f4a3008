"""Meshes of `others.py` by TetGen (PyPI: tetgen): tetrahedra whose size is left to their quality, within surfaces that are made here."""

import numpy as np
import tetgen

from kit import TET, Soup, mesh, naca


def filled(bodies, outer, ratio=1.6, largest=None):
    """Tetrahedra between closed surfaces (points, triangles, a point within) and an outer one (points, triangles)."""
    points, faces, at = [], [], 0
    for p, f, *_ in [*bodies, outer]:
        points.append(p)
        faces.append(np.asarray(f) + at)
        at += len(p)
    made = tetgen.TetGen(np.concatenate(points), np.concatenate(faces))
    for body in bodies:
        made.add_hole(body[2])
    more = {"maxvolume": largest} if largest else {}
    out = made.tetrahedralize(order=1, mindihedral=12, minratio=ratio, nobisect=True, quality=True, **more)
    return Soup(out[0], {TET: out[1]}).tidy(1e-10)


def ball(center, radius, n):
    """A cube of n x n cells a face, blown up to a sphere."""
    t = np.tan(np.linspace(-1, 1, n + 1) * np.pi / 4)
    u, v = np.meshgrid(t, t, indexing="ij")
    one = np.ones_like(u)
    sheets = [np.stack(s, -1) for s in ((one, u, v), (-one, v, u), (v, one, u), (u, -one, v), (u, v, one), (v, u, -one))]
    points, faces = [], []
    for k, s in enumerate(sheets):
        number = np.arange(s[..., 0].size).reshape(s.shape[:2]) + k * s[..., 0].size
        a, b, c, d = number[:-1, :-1].ravel(), number[1:, :-1].ravel(), number[1:, 1:].ravel(), number[:-1, 1:].ravel()
        faces.append(np.concatenate([np.c_[a, b, c], np.c_[a, c, d]]))
        points.append(s.reshape(-1, 3))
    p = np.concatenate(points)
    p = np.asarray(center) + radius * p / np.linalg.norm(p, axis=1, keepdims=True)
    return *welded(p, np.concatenate(faces)), np.asarray(center, float)


def welded(points, faces):
    _, first, number = np.unique(np.round(points * 1e8).astype(np.int64), axis=0, return_index=True, return_inverse=True)
    faces = number.reshape(-1)[faces]
    whole = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 0] != faces[:, 2])
    return points[first], faces[whole]


def wing(section, stations):
    """A whole wing's surface by (x, y, z, chord, thickness) along its span, closed where the thickness is none, by triangles where it is not."""
    rows = np.stack(
        [np.stack([x + c * section[:, 0], np.full(len(section), y), z + c * h * section[:, 1]], 1) for x, y, z, c, h in stations]
    )
    m, n = rows.shape[:2]
    k = np.arange(m * n).reshape(m, n)
    a, b, c, d = k[:-1, :-1].ravel(), k[1:, :-1].ravel(), k[1:, 1:].ravel(), k[:-1, 1:].ravel()
    faces = [np.c_[a, b, c], np.c_[a, c, d]]
    for end, (*_, thick) in ((0, stations[0]), (-1, stations[-1])):
        if thick > 0:
            low, high = k[end, : n // 2 + 1], k[end, n // 2 :][::-1]
            faces += [np.c_[low[:-1], high[:-1], low[1:]], np.c_[high[:-1], high[1:], low[1:]]]
    return *welded(rows.reshape(-1, 3), np.concatenate(faces)), rows[m // 2].mean(0)


def bodies_or_far(reach, walls="wall"):
    return lambda m, n: "far" if np.linalg.norm(m) > reach else walls(m) if callable(walls) else walls


@mesh
def tgballs():
    """Three balls."""
    bodies = [ball((0, 0, 0), 0.5, 10), ball((0.9, 0.9, 0), 0.4, 9), ball((1.2, -0.6, 0.5), 0.3, 8)]
    return filled(bodies, ball((0.5, 0, 0), 8, 9), 1.4), bodies_or_far(4)


@mesh
def tgwing():
    """A whole wing, swept, whose tips end in sharp edges."""
    y = np.sin(np.linspace(-1, 1, 33) * np.pi / 2) * 2
    stations = [(0.5 * abs(t), t, 0.03 * t * t, 1 - 0.25 * abs(t), np.sqrt(max(0, 1 - (abs(t) / 2) ** 4))) for t in y]
    return filled([wing(naca("0012", 18), stations)], ball((0.5, 0, 0), 10, 9), 1.5), bodies_or_far(5)


@mesh
def tgdelta():
    """A whole delta wing, sharp all around, a diamond across."""
    x = np.r_[np.linspace(0, 0.5, 10), np.linspace(0.5, 1, 10)[1:]]
    h = 0.06 * np.where(x < 0.5, x, 1 - x)
    diamond = np.concatenate([np.c_[x, -h][::-1], np.c_[x, h][1:]])
    y = np.linspace(-1, 1, 29) * 0.6
    stations = [(abs(t) / 0.6 * 0.95, t, 0, 1 - 0.95 * abs(t) / 0.6, 1) for t in y]
    return filled([wing(diamond, stations)], ball((0.6, 0, 0), 6, 9), 1.5), bodies_or_far(3)


@mesh
def tgpod():
    """A wing with flat tips and a pod on either side of it, in millimetres."""
    stations = [(0.3 * abs(t), t, 0, 1 - 0.2 * abs(t), 1) for t in np.linspace(-1.2, 1.2, 25)]
    bodies = [wing(naca("2412", 16), stations)]
    for y in (-0.6, 0.6):
        p, f, c = ball((0, 0, 0), 1, 8)
        bodies.append((p * [0.4, 0.07, 0.07] + [0.5, y, -0.22], f, np.array([0.5, y, -0.22])))
    bodies = [(p * 1000, f, c * 1000) for p, f, c in bodies]
    p, f, c = ball((0.5, 0, 0), 7, 9)
    return filled(bodies, (1000 * p, f), 1.5), bodies_or_far(3000)
