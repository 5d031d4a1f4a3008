"""Finer members of a family of planar structured grids, by cubic splines over the numbers of the points: the grids of NASA's Turbulence
Modeling Resource are nested and smooth, so that what comes out is close to their own next ones, which are too large for this repository.

    python refine_plane.py bump 2 bump_3levelsdown_177x81.p2dfmt.xz bump_353x161.su2
    python refine_plane.py c-grid 2 n0012_225-65.p2dfmt.xz n0012_449-129.su2

`bump` has a wall between points 48/176 and 128/176 of the first row, symmetry before and after it; `c-grid` has a wake on both sides of
the first row, which is one line of nodes, and an airfoil between. Needs NumPy and SciPy.
"""

import lzma
import sys

import numpy as np
from scipy.interpolate import CubicSpline


def read(path):
    """x, y of a formatted PLOT3D file of one planar block, [2, nj, ni]."""
    opened = lzma.open if path.endswith(".xz") else open
    words = opened(path, "rt").read().split()
    ni, nj = int(words[1]), int(words[2])
    return np.array(words[3:], float).reshape(2, nj, ni)


def refined(points, axis, times, breaks=()):
    """Splines over the numbers of the points along an axis, one between each two breaks."""
    n = points.shape[axis]
    ends = [0, *breaks, n - 1]
    parts = []
    for low, high in zip(ends, ends[1:]):
        part = points.take(range(low, high + 1), axis)
        spline = CubicSpline(np.arange(high - low + 1), part, axis=axis)
        fine = spline(np.arange(times * (high - low) + 1) / times)
        parts.append(fine if high == n - 1 else fine.take(range(times * (high - low)), axis))
    return np.concatenate(parts, axis)


def write(path, nodes, quads, markers):
    with open(path, "w") as out:
        out.write(f"NDIME= 2\nNELEM= {len(quads)}\n")
        out.writelines(f"9 {a} {b} {c} {d}\n" for a, b, c, d in quads)
        out.write(f"NPOIN= {len(nodes)}\n")
        out.writelines(f"{x!r} {y!r}\n" for x, y in nodes.tolist())
        out.write(f"NMARK= {len(markers)}\n")
        for name, edges in markers.items():
            out.write(f"MARKER_TAG= {name}\nMARKER_ELEMS= {len(edges)}\n")
            out.writelines(f"3 {a} {b}\n" for a, b in edges)


def edges(line):
    return list(zip(line[:-1].tolist(), line[1:].tolist()))


def main():
    kind, times, source, target = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
    points = read(source)
    ni = points.shape[2]
    # Splines end at the trailing edge.
    tips = ((ni - 1) * 3 // 14, (ni - 1) * 11 // 14) if kind == "c-grid" else ()
    points = refined(refined(points, 2, times, tips), 1, times)
    nj, ni = points.shape[1:]
    number = np.arange(ni * nj).reshape(nj, ni)
    if kind == "c-grid":
        wake = (ni - 1) * 3 // 14
        # The first row of the upper side of the wake is that of the lower one.
        number[0, ni - 1 - wake :] = number[0, wake::-1]
    kept, number = np.unique(number, return_inverse=True)
    number = number.reshape(nj, ni)
    nodes = points.reshape(2, -1).T[kept]
    quads = np.stack([number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1]], -1).reshape(-1, 4)
    if kind == "c-grid":
        markers = {
            "airfoil": edges(number[0, wake : ni - wake]),
            "farfield": edges(number[-1]) + edges(number[:, 0]) + edges(number[:, -1]),
        }
    else:
        low, high = (ni - 1) * 48 // 176, (ni - 1) * 128 // 176
        markers = {
            "wall": edges(number[0, low : high + 1]),
            "symmetry": edges(number[0, : low + 1]) + edges(number[0, high:]) + edges(number[-1]),
            "inlet": edges(number[:, 0]),
            "outlet": edges(number[:, -1]),
        }
    write(target, nodes, quads, markers)


if __name__ == "__main__":
    main()
