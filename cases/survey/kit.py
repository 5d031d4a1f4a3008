"""What the scripts of `others.py` share: meshes of arrays, written for SU2; grids, their splitting, layers, revolution; sections."""

from math import log, sqrt

import numpy as np

TAU = 2 * np.pi
MADE = {}
# SU2's numbers of elements, and of how many dimensions they are.
KINDS = {3: (2, 1), 5: (3, 2), 9: (4, 2), 10: (4, 3), 12: (8, 3), 13: (6, 3), 14: (5, 3)}
LINE, TRIANGLE, QUAD, TET, HEX, PRISM, PYRAMID = 3, 5, 9, 10, 12, 13, 14
# Corners whose first edges say how an element is turned, and its mirror image.
TURNED = {
    TRIANGLE: ((0, 1, 2, None), (0, 2, 1)),
    QUAD: ((0, 1, 3, None), (0, 3, 2, 1)),
    TET: ((0, 1, 2, 3), (0, 2, 1, 3)),
    HEX: ((0, 1, 3, 4), (4, 5, 6, 7, 0, 1, 2, 3)),
    PRISM: ((0, 1, 2, 3), (3, 4, 5, 0, 1, 2)),
    PYRAMID: ((0, 1, 3, 4), (0, 3, 2, 1, 4)),
}
FACES = {
    TRIANGLE: [(0, 1), (1, 2), (2, 0)],
    QUAD: [(0, 1), (1, 2), (2, 3), (3, 0)],
    TET: [(0, 1, 2), (0, 1, 3), (1, 2, 3), (0, 2, 3)],
    HEX: [(0, 1, 2, 3), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)],
    PRISM: [(0, 1, 2), (3, 4, 5), (0, 1, 4, 3), (1, 2, 5, 4), (2, 0, 3, 5)],
    PYRAMID: [(0, 1, 2, 3), (0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 0, 4)],
}


class Chance:
    """Numbers at random."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def between(self, low, high):
        return float(self.rng.uniform(low, high))

    def scaled(self, low, high):
        return float(np.exp(self.rng.uniform(log(low), log(high))))

    def one(self, *of):
        return of[self.rng.integers(len(of))]


def wall_spacing(reynolds, plus=1.0):
    """Height of the first cell for a y+ over a length of 1 (turbulent plate)."""
    return plus / (reynolds * sqrt(0.5 * 0.026 / reynolds ** (1 / 7)))


def mesh(function):
    """A mesh: what gives its soup and the names of its sides, or a text alone for what is written otherwise."""
    MADE[function.__name__] = function
    return function


class Soup:
    """Points and elements by kind; sides are found, and named by where they are."""

    def __init__(self, points, cells):
        self.points = np.asarray(points, float)
        self.cells = {kind: np.asarray(c, int).reshape(-1, KINDS[kind][0]) for kind, c in cells.items() if len(c)}

    @property
    def dim(self):
        return self.points.shape[1]

    def tidy(self, within=1e-9):
        """Points at one place become one, elements lose repeated corners (a hexahedron on an axis is a prism), points without elements go."""
        scale = np.ptp(self.points, axis=0).max()
        key = np.round(self.points / (within * scale)).astype(np.int64)
        _, first, number = np.unique(key, axis=0, return_index=True, return_inverse=True)
        number = number.reshape(-1)
        points, new = self.points[first], {}
        for kind, cells in self.cells.items():
            for cell in number[cells]:
                made = shrunk(kind, cell)
                if made:
                    new.setdefault(made[0], []).append(made[1])
        used = np.unique(np.concatenate([np.ravel(c) for c in new.values()]))
        place = np.zeros(len(points), int)
        place[used] = np.arange(len(used))
        self.points = points[used]
        self.cells = {kind: place[np.array(c)] for kind, c in new.items()}
        return self

    def upright(self):
        """No element is mirrored."""
        for kind, cells in self.cells.items():
            (a, b, c, d), mirror = TURNED[kind]
            p = self.points[cells]
            u, v = p[:, b] - p[:, a], p[:, c] - p[:, a]
            size = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0] if d is None else (np.cross(u, v) * (p[:, d] - p[:, a])).sum(1)
            wrong = size < 0
            cells[wrong] = cells[wrong][:, mirror]
        return self

    def sides(self):
        """Faces of one element alone: {kind: (n, k)}."""
        seen = {}
        for kind, cells in self.cells.items():
            for face in FACES[kind]:
                for nodes in cells[:, face]:
                    seen.setdefault(tuple(sorted(nodes)), []).append(nodes)
        sides = {}
        for all_ in seen.values():
            assert len(all_) < 3, "three elements at a face"
            if len(all_) == 1:
                kind = LINE if self.dim == 2 else TRIANGLE if len(all_[0]) == 3 else QUAD
                sides.setdefault(kind, []).append(all_[0])
        return {kind: np.array(s) for kind, s in sides.items()}

    def markers(self, name):
        """Sides by name(middle, normal), the normal of unit length and of no sure sign: {name: [(kind, corners)]}."""
        self.upright()
        markers = {}
        for kind, sides in self.sides().items():
            for side in sides:
                p = self.points[side]
                if self.dim == 2:
                    t = p[1] - p[0]
                    n = np.array([t[1], -t[0]])
                else:
                    n = np.cross(p[2] - p[0], (p[3] if len(side) == 4 else p[1]) - p[1 if len(side) == 4 else 0])
                markers.setdefault(name(p.mean(0), n / max(np.linalg.norm(n), 1e-300)), []).append((kind, side))
        return markers

    def write(self, path, name):
        """A text file for SU2, its sides named as by `markers`."""
        markers = self.markers(name)
        with open(path, "w") as out:
            out.write(f"NDIME= {self.dim}\nNELEM= {sum(map(len, self.cells.values()))}\n")
            for kind, cells in self.cells.items():
                for cell in cells:
                    out.write(f"{kind} {' '.join(map(str, cell))}\n")
            out.write(f"NPOIN= {len(self.points)}\n")
            for p in self.points:
                out.write(" ".join(f"{x:.15g}" for x in p) + "\n")
            out.write(f"NMARK= {len(markers)}\n")
            for marker, sides in markers.items():
                out.write(f"MARKER_TAG= {marker}\nMARKER_ELEMS= {len(sides)}\n")
                for kind, side in sides:
                    out.write(f"{kind} {' '.join(map(str, side))}\n")


def shrunk(kind, cell):
    """An element whose corners coincide as the smaller one that it is, or none."""
    if len(set(cell)) == len(cell):
        return kind, cell
    if kind == QUAD:
        corners = list(dict.fromkeys(cell))
        return (TRIANGLE, corners) if len(corners) == 3 else None
    if kind == HEX:
        # An edge of every face of one pair has gone: a prism; a whole face has: a pyramid's, of the opposite face.
        for low, high in [((0, 1, 2, 3), (4, 5, 6, 7)), ((0, 1, 5, 4), (3, 2, 6, 7)), ((1, 2, 6, 5), (0, 3, 7, 4))]:
            a, b = cell[list(low)], cell[list(high)]
            for base, top in ((a, b), (b, a)):
                if len(set(base)) == 4 and len(set(top)) == 1:
                    return PYRAMID, [*base, top[0]]
            keep = [k for k in range(4) if a[k] != a[k - 1]]
            if len(keep) == 3 and keep == [k for k in range(4) if b[k] != b[k - 1]] and not set(a) & set(b):
                return PRISM, [*a[keep], *b[keep]]
        # Wedges whose edge is an axis: two corners of one face are those of its opposite.
        return None
    if kind == PRISM:
        a, b = cell[:3], cell[3:]
        same = [k for k in range(3) if a[k] == b[k]]
        if len(same) == 1:
            k, l, m = same[0], (same[0] + 1) % 3, (same[0] + 2) % 3
            return PYRAMID, [a[l], a[m], b[m], b[l], a[k]]
        if len(same) == 2:
            k = ({0, 1, 2} - set(same)).pop()
            return TET, [*a, b[k]]
    return None


# ---- Distributions ---------------------------------------------------------------------------------------------------------------


def stretched(n, first):
    """n + 1 places from 0 to 1, the first step `first`, growing geometrically."""
    low, high = 1.0 + 1e-9, 6.0
    for _ in range(200):
        q = 0.5 * (low + high)
        low, high = (q, high) if first * (q**n - 1) / (q - 1) < 1 else (low, q)
    s = first * (q ** np.arange(n + 1) - 1) / (q - 1)
    return s / s[-1]


def both_ends(n, first):
    half = stretched(n // 2, 2 * first) / 2
    return np.r_[half, 1 - half[-2::-1]]


def uneven(n, seed, by=0.6):
    """n + 1 places from 0 to 1 whose steps differ at random by up to e^by, smoothly twice."""
    steps = np.exp(by * np.random.default_rng(seed).uniform(-1, 1, n))
    steps = np.convolve(np.r_[steps[0], steps, steps[-1]], [0.25, 0.5, 0.25], "valid")
    return np.r_[0, np.cumsum(steps)] / steps.sum()


# ---- Grids -----------------------------------------------------------------------------------------------------------------------


def grid(points):
    """Quadrilaterals of points [i, j, 2], hexahedra of points [i, j, k, 3]."""
    shape = points.shape[:-1]
    n = np.arange(np.prod(shape)).reshape(shape)
    if len(shape) == 2:
        cells = {QUAD: np.stack([n[:-1, :-1], n[1:, :-1], n[1:, 1:], n[:-1, 1:]], -1).reshape(-1, 4)}
    else:
        low = n[:-1, :-1, :-1], n[1:, :-1, :-1], n[1:, 1:, :-1], n[:-1, 1:, :-1]
        high = n[:-1, :-1, 1:], n[1:, :-1, 1:], n[1:, 1:, 1:], n[:-1, 1:, 1:]
        cells = {HEX: np.stack(low + high, -1).reshape(-1, 8)}
    return Soup(points.reshape(-1, points.shape[-1]), cells)


def joined(*parts):
    at, points, cells = 0, [], {}
    for part in parts:
        points.append(part.points)
        for kind, c in part.cells.items():
            cells.setdefault(kind, []).append(c + at)
        at += len(part.points)
    return Soup(np.concatenate(points), {kind: np.concatenate(c) for kind, c in cells.items()}).tidy()


def jiggled(soup, by, seed, inside=None):
    """Inner points moved at random by up to `by` of their shortest edge; inside(points) may hold back more."""
    fixed = np.zeros(len(soup.points), bool)
    for side in soup.sides().values():
        fixed[side.ravel()] = True
    if inside is not None:
        fixed |= ~inside(soup.points)
    short = np.full(len(soup.points), np.inf)
    for cells in soup.cells.values():
        p = soup.points[cells]
        for k in range(cells.shape[1]):
            for l in range(k):
                d = np.linalg.norm(p[:, k] - p[:, l], axis=1)
                np.minimum.at(short, cells[:, k], d)
                np.minimum.at(short, cells[:, l], d)
    move = np.random.default_rng(seed).uniform(-1, 1, soup.points.shape) * by * short[:, None]
    soup.points = soup.points + np.where(fixed[:, None], 0, move)
    return soup


def triangles(soup, seed=None, where=None):
    """Quadrilaterals cut along a diagonal: the shorter one, or by chance; where(middles) says which are."""
    quads = soup.cells.pop(QUAD)
    p = soup.points[quads]
    cut = np.ones(len(quads), bool) if where is None else where(p.mean(1))
    other = np.linalg.norm(p[:, 0] - p[:, 2], axis=1) > np.linalg.norm(p[:, 1] - p[:, 3], axis=1)
    if seed is not None:
        other = np.random.default_rng(seed).random(len(quads)) < 0.5
    turned = np.where(other[:, None], np.roll(quads, -1, axis=1), quads)[cut]
    three = np.concatenate([turned[:, [0, 1, 2]], turned[:, [0, 2, 3]], soup.cells.pop(TRIANGLE, np.empty((0, 3), int))])
    return Soup(soup.points, {TRIANGLE: three, QUAD: quads[~cut]})


def split_hexes(soup, how):
    """Hexahedra as six pyramids about their middles ("pyramids"), those whose faces are cut at the lowest corner as twelve ("tets");
    how(middles) says which of them become pyramids: "mixed" meshes of both have no hanging nodes."""
    hexes = soup.cells.pop(HEX)
    middles = soup.points[hexes].mean(1)
    kinds = how(middles) if callable(how) else np.full(len(hexes), how)
    points, at = [soup.points], len(soup.points)
    cells = {HEX: hexes[kinds == "hexes"]}
    pyramids, tets = [], []
    # A face between tetrahedra and others would be cut on one side alone.
    cut = {tuple(sorted(cell[list(face)])): False for cell in soup.cells.get(PRISM, []) for face in FACES[PRISM] if len(face) == 4}
    for cell, kind in zip(hexes, kinds):
        for face in FACES[HEX]:
            key = tuple(sorted(cell[list(face)]))
            cut[key] = cut.get(key, True) and kind == "tets"
    for cell, kind, middle in zip(hexes, kinds, middles):
        if kind == "hexes":
            continue
        points.append(middle[None])
        for face in FACES[HEX]:
            q = cell[list(face)]
            if cut[tuple(sorted(q))]:
                q = np.roll(q, -int(np.argmin(q)))
                tets += [[q[0], q[1], q[2], at], [q[0], q[2], q[3], at]]
            else:
                pyramids.append([*q, at])
        at += 1
    return Soup(np.concatenate(points), {**cells, PYRAMID: pyramids, TET: tets, **soup.cells})


def extruded(soup, places):
    """A planar mesh as layers; places: the third coordinate of each."""
    n, layers = len(soup.points), len(places)
    points = np.concatenate([np.c_[soup.points, np.full(n, z)] for z in places])
    cells = {}
    for kind, up in ((TRIANGLE, PRISM), (QUAD, HEX)):
        if kind in soup.cells:
            c = soup.cells[kind]
            cells[up] = np.concatenate([np.c_[c + k * n, c + (k + 1) * n] for k in range(layers - 1)])
    return Soup(points, cells)


def revolved(soup, angles):
    """A planar mesh (x, r) about the x axis, in radians; what lies on the axis becomes one point."""
    solid = extruded(soup, angles)
    x, r, a = solid.points.T
    solid.points = np.stack([x, r * np.cos(a), r * np.sin(a)], axis=1)
    return solid.tidy(1e-10)


# ---- Sections --------------------------------------------------------------------------------------------------------------------


def naca(code, n, closed=True):
    """Points of a four-digit section from the trailing edge over the lower side around the nose back, [2 n + 1, 2]."""
    m, p, t = int(code[0]) / 100, int(code[1]) / 10, int(code[2:]) / 100
    x = 0.5 * (1 - np.cos(np.pi * np.arange(n + 1) / n))
    half = 5 * t * (0.2969 * np.sqrt(x) - 0.1260 * x - 0.3516 * x**2 + 0.2843 * x**3 - (0.1036 if closed else 0.1015) * x**4)
    camber = 0 * x
    if m:
        camber = np.where(x < p, m / p**2 * (2 * p * x - x * x), m / (1 - p) ** 2 * (1 - 2 * p + 2 * p * x - x * x))
    return np.concatenate([np.stack([x, camber - half], 1)[::-1], np.stack([x, camber + half], 1)[1:]])


def normals(curve):
    """Of a curve [n, 2] to its left; where it closes, of both ends together."""
    t = np.gradient(curve, axis=0)
    if np.allclose(curve[0], curve[-1]):
        t[0] = t[-1] = t[0] / np.linalg.norm(t[0]) + t[-1] / np.linalg.norm(t[-1])
    n = np.stack([-t[:, 1], t[:, 0]], 1)
    return n / np.maximum(np.linalg.norm(n, axis=1, keepdims=True), 1e-300)


def rings(inner, outer, s, sharp=12, leave=None):
    """Points [i, j, 2] between two curves, leaving the inner one along `leave` [n, 2], or its normals to the left of its way."""
    way = outer - inner
    t = s[None, :, None]
    along = inner[:, None] + t * (np.linalg.norm(way, axis=1)[:, None] * (normals(inner) if leave is None else leave))[:, None]
    blend = np.exp(-sharp * t)
    return blend * along + (1 - blend) * (inner[:, None] + t * way[:, None])
