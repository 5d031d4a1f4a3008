"""Blocks of points for `random_grids.py`: moved, cut and turned at random; files of points and of a map of faces that meet wholly or in part."""

import itertools

import numpy as np

from grids_further import FACES, meeting

# ---- Points ------------------------------------------------------------------------------------------------------------------------


def moved(points, by):
    """Points moved by parts `by` [..., d] of the steps along their own lines; within one of them."""
    shift = np.zeros_like(points)
    for axis in range(points.ndim - 1):
        ahead = np.diff(points, axis=axis, append=np.take(points, [-1], axis))
        behind = np.diff(points, axis=axis, prepend=np.take(points, [0], axis))
        w = by[..., axis, None]
        shift = shift + np.where(w > 0, w * ahead, w * behind)
    return points + shift


def slid(points, axis, by):
    """Points moved along the lines of an axis by numbers of points `by`."""
    n = points.shape[axis]
    at = np.clip(np.moveaxis(np.broadcast_to(np.arange(n), by.shape[:axis] + by.shape[axis + 1 :] + (n,)), -1, axis) + by, 0, n - 1)
    low = np.minimum(at.astype(int), n - 2)
    part = (at - low)[..., None]
    take = lambda k: np.take_along_axis(points, np.broadcast_to(k[..., None], points.shape), axis)
    return (1 - part) * take(low) + part * take(low + 1)


def inner(shape):
    """1 within, 0 on the sides."""
    mask = np.ones(shape)
    for axis, n in enumerate(shape):
        if n > 2:
            edge = np.ones(n)
            edge[[0, -1]] = 0
            mask = mask * edge.reshape([-1 if a == axis else 1 for a in range(len(shape))])
    return mask


def bent(draw, blocks):
    """Blocks as they are, their lines sheared smoothly, or their inner points moved at random by up to a third of their shortest step."""
    what = draw.one("none", "none", "smooth", "random", "both")
    size = draw.between(0.1, 0.6), draw.between(0.05, 0.35)
    while True:
        made = [shaken(draw, b, what, size) for b in blocks]
        if what == "none" or sound(made):
            return made
        size = size[0] / 2, size[1] / 2


def shaken(draw, points, what, size):
    shape = points.shape[:-1]
    if what in ("smooth", "both"):
        # Lines of the first axis slide where they are away from the ends of the second, by length.
        steps = np.linalg.norm(np.diff(points, axis=1), axis=-1)
        s = np.concatenate([np.zeros_like(steps[:, :1]), np.cumsum(steps, axis=1)], axis=1)
        s = s / np.maximum(s[:, -1:], 1e-300)
        t = np.arange(shape[0]) / (shape[0] - 1)
        wave = np.sin(np.pi * t) * np.cos(np.pi * draw.one(0, 1, 2) * t + draw.between(0, 6))
        wave = wave.reshape([-1] + [1] * (len(shape) - 1))
        points = slid(points, 0, size[0] * shape[0] / 6 * wave * 4 * s * (1 - s))
    if what in ("random", "both"):
        steps = []
        for axis in range(len(shape)):
            d = np.linalg.norm(np.diff(points, axis=axis), axis=-1)
            pad = lambda where: np.pad(d, [(where if a == axis else (0, 0)) for a in range(len(shape))], constant_values=np.inf)
            steps.append(np.minimum(pad((1, 0)), pad((0, 1))))
        short = np.minimum.reduce(steps)
        # What is one cell wide stays so.
        lots = [1 if n == 2 else n for n in shape]
        lots = draw.rng.uniform(-size[1], size[1], (*lots, len(shape))) * [n > 2 for n in shape]
        by = np.stack([short / np.maximum(step, 1e-300) for step in steps], -1) * lots
        points = moved(points, by * inner(shape)[..., None])
    return points


def sound(blocks):
    """Whether all corners of all cells are turned the same way, those on an axis aside."""
    for points in blocks:
        d = points.shape[-1]
        if points.ndim == 4 and points.shape[2] == 2 and np.ptp(points[:, :, 0, 2]) == 0:
            points, d = points[:, :, 0, :2], 2
        seen = []
        for corner in itertools.product((0, 1), repeat=points.ndim - 1):
            at = tuple(slice(c, n - 1 + c) for c, n in zip(corner, points.shape))
            edges = []
            for axis, c in enumerate(corner):
                to = list(corner)
                to[axis] = 1 - c
                there = tuple(slice(k, n - 1 + k) for k, n in zip(to, points.shape))
                edges.append((points[there] - points[at]) * (1 - 2 * c))
            length = np.prod([np.linalg.norm(e, axis=-1) for e in edges], axis=0)
            size = np.linalg.det(np.stack(edges, -2)) if d > 1 else edges[0][..., 0]
            seen.append(np.where(length > 0, size, np.nan).ravel())
        seen = np.concatenate(seen)
        seen = seen[np.isfinite(seen)]
        if not ((seen > 0).all() or (seen < 0).all()):
            return False
    return True


def cut(draw, blocks):
    """Some blocks cut in two, anywhere along any axis but where a cell is alone."""
    made = []
    for points in blocks:
        parts = [points]
        for _ in range(draw.one(0, 0, 1, 2)):
            k = draw.rng.integers(len(parts))
            long = [a for a in range(3) if parts[k].shape[a] > 6]
            if not long:
                continue
            axis = long[draw.rng.integers(len(long))]
            where = int(draw.rng.integers(2, parts[k].shape[axis] - 3))
            n = parts[k].shape[axis]
            low, high = (np.take(parts[k], range(*ends), axis) for ends in ((0, where + 1), (where, n)))
            parts[k : k + 1] = [low, high]
        made += parts
    return made


def turned(draw, points):
    """A block in other axes, of either hand, or as it is."""
    if draw.one(True, False):
        return points
    flips = [a for a in range(3) if draw.one(True, False)]
    return np.ascontiguousarray(np.flip(points, flips).transpose(*draw.rng.permutation(3), 3))


# ---- Files -------------------------------------------------------------------------------------------------------------------------


def face_of(points, face):
    """Points of a face by its two ranges."""
    axis, end, (a, b) = FACES[face]
    plane = np.take(points, end, axis=axis)
    return plane if a < b else plane.swapaxes(0, 1)


def rectangles(labels):
    """Parts of a face that have one label each: (label, ranges of cells)."""
    left = np.ones(labels.shape, bool)
    for i, j in np.ndindex(labels.shape):
        if not left[i, j]:
            continue
        label, v = labels[i, j], j + 1
        while v < labels.shape[1] and left[i, v] and labels[i, v] == label:
            v += 1
        u = i + 1
        while u < labels.shape[0] and left[u, j:v].all() and all(labels[u, k] == label for k in range(j, v)):
            u += 1
        left[i:u, j:v] = False
        yield label, (i, u, j, v)


def corners(plane):
    """The four corners of each cell of a face, [i, j, 4, d]."""
    return np.stack([plane[:-1, :-1], plane[1:, :-1], plane[1:, 1:], plane[:-1, 1:]], 2)


def write(path, blocks, name):
    """Points and map of blocks [ni, nj, nk, 3]; faces of cells that have the same corners meet, others are named by name(middle, normal).
    Returns the names."""
    blocks = [np.array([float(f"{v:.15g}") for v in b.ravel()]).reshape(b.shape) + 0.0 for b in blocks]
    met, cells = {}, {}
    for b, points in enumerate(blocks):
        for f in FACES:
            c = cells[b, f] = corners(face_of(points, f))
            for i, j in np.ndindex(c.shape[:2]):
                key = tuple(sorted(map(bytes, c[i, j])))
                if len(set(key)) == 4:
                    met.setdefault(key, []).append((b, f, i, j))
    other = {}
    for places in met.values():
        assert len(places) < 3, "three faces at a place"
        if len(places) == 2:
            other[places[0]], other[places[1]] = places[1], places[0]
    rows, done, names = [], set(), []
    for (b, f), c in cells.items():
        m, n = c.mean(2), np.cross(c[:, :, 2] - c[:, :, 0], c[:, :, 3] - c[:, :, 1])
        length = np.linalg.norm(n, axis=-1, keepdims=True)
        n = np.where(length > 1e-14 * np.ptp(blocks[b].reshape(-1, 3), axis=0).max() ** 2, n / np.maximum(length, 1e-300), 0)
        flat = np.array([[len(set(map(bytes, c[i, j]))) < 3 for j in range(c.shape[1])] for i in range(c.shape[0])])
        labels = np.empty(c.shape[:2], object)
        for i, j in np.ndindex(labels.shape):
            there = other.get((b, f, i, j))
            labels[i, j] = there[:2] if there else name(m[i, j], n[i, j] * (not flat[i, j]))
        for label, (i, u, j, v) in rectangles(labels):
            here = f"{b + 1} {f} {i + 1} {u + 1} {j + 1} {v + 1}"
            if isinstance(label, str):
                rows.append(f"{label} {here}")
                names.append(label)
                continue
            if (b, f, i, j) in done:
                continue
            there = np.array([other[b, f, a, e][2:] for a in range(i, u) for e in range(j, v)])
            done |= {(*label, *at) for at in map(tuple, there)}
            (p, r), (q, t) = there.min(0), there.max(0) + 1
            one, two = (face_of(blocks[g], h)[a : k + 1, e : l + 1] for g, h, a, k, e, l in ((b, f, i, u, j, v), (*label, p, q, r, t)))
            back_a, back_b, swap = meeting(one, two)
            words = lambda low, high, back: f"{high + 1} {low + 1}" if back else f"{low + 1} {high + 1}"
            rows.append(f"one-to-one {here} {label[0] + 1} {label[1]} {words(p, q, back_a)} {words(r, t, back_b)} {'true' if swap else 'false'}")
    sizes = [" ".join(map(str, points.shape[:3])) for points in blocks]
    path.with_suffix(".nmf").write_text("\n".join([f"# {path.name}", str(len(blocks)), *(f"{b + 1} {size}" for b, size in enumerate(sizes)), *rows]) + "\n")
    with open(path.with_suffix(".p3dfmt"), "w") as file:
        file.write("\n".join([str(len(blocks)), *sizes]) + "\n")
        for points in blocks:
            for d in range(3):
                np.savetxt(file, points[..., d].transpose(2, 1, 0).reshape(-1), fmt="%.15g")
    return sorted(set(names))
