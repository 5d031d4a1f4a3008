#!/usr/bin/env python3
"""Makes a plate for wall functions: the places along the plate of NASA's TMR grid of 69 x 49, and cells away from it that grow
by 1.118 from the height that has the given y+ at x = 0.97 with its Reynolds number, 5 million, and friction, 0.0027.

    make_plate.py DATA/mesh2d/flatplate_turb_069x049.su2.xz 60 plate_y60.su2

A name that ends in .p3dfmt makes a structured grid of one layer of cells and its neutral map file; there the given y+ is that of the first centers, half a cell
from the wall.
"""

import lzma
import sys

HEIGHT, FRICTION_VELOCITY, REYNOLDS, GROWTH = 1.0, 0.03674, 5e6, 1.12


def heights(first):
    """From the wall to HEIGHT; the growth is what a whole number of cells asks for."""
    count, total = 0, 0.0
    while total < HEIGHT:
        total += first * GROWTH**count
        count += 1
    low, high = 1.0001, 1.2
    for _ in range(100):
        growth = (low + high) / 2
        total = first * (growth**count - 1) / (growth - 1)
        low, high = (growth, high) if total < HEIGHT else (low, growth)
    return [first * (growth**k - 1) / (growth - 1) for k in range(count)] + [HEIGHT]


def places(grid):
    """Along the plate, of a mesh file."""
    lines = lzma.open(grid, "rt").read().split("\n")
    start = next(i for i, line in enumerate(lines) if line.startswith("NPOIN"))
    nodes = int(lines[start].split("=")[1].split()[0])
    return sorted({round(float(line.split()[0]), 12) for line in lines[start + 1 : start + 1 + nodes]})


def write_grid(xs, ys, output):
    ni, nj, edge = len(xs), len(ys), sum(x < 0 for x in xs) + 1
    with open(output, "w") as out:
        out.write(f"1\n{ni} {nj} 2\n")
        for values in ([x for _ in ys for x in xs] * 2, [y for y in ys for _ in xs] * 2):
            out.writelines(f"{value:.16g}\n" for value in values)
        out.writelines("0\n" * (ni * nj) + "1\n" * (ni * nj))
    with open(output.replace(".p3dfmt", ".nmf"), "w") as out:
        out.write(f"# The plate of make_plate.py\n1\n1 {ni} {nj} 2\n")
        out.write(f"symmetry_z 1 1 1 {ni} 1 {nj}\nsymmetry_z 1 2 1 {ni} 1 {nj}\n")
        out.write(f"inlet 1 3 1 {nj} 1 2\noutlet 1 4 1 {nj} 1 2\n")
        out.write(f"symmetry 1 5 1 2 1 {edge}\nwall 1 5 1 2 {edge} {ni}\nfarfield 1 6 1 2 1 {ni}\n")


def main(grid, units, output):
    xs, first = places(grid), float(units) / (FRICTION_VELOCITY * REYNOLDS)
    if output.endswith(".p3dfmt"):
        return write_grid(xs, heights(2 * first), output)
    ys = heights(first)
    wide = len(xs)
    markers = {"wall": [], "symmetry": [], "inlet": [], "outlet": [], "farfield": []}
    for i in range(wide - 1):
        markers["wall" if xs[i] >= 0 else "symmetry"].append((i, i + 1))
        markers["farfield"].append(((len(ys) - 1) * wide + i, (len(ys) - 1) * wide + i + 1))
    for j in range(len(ys) - 1):
        markers["inlet"].append((j * wide, (j + 1) * wide))
        markers["outlet"].append((j * wide + wide - 1, (j + 1) * wide + wide - 1))
    with open(output, "w") as out:
        out.write(f"NDIME= 2\nNELEM= {(wide - 1) * (len(ys) - 1)}\n")
        for j in range(len(ys) - 1):
            for i in range(wide - 1):
                a = j * wide + i
                out.write(f"9 {a} {a + 1} {a + wide + 1} {a + wide}\n")
        out.write(f"NPOIN= {wide * len(ys)}\n")
        out.writelines(f"{x:.16g} {y:.16g}\n" for y in ys for x in xs)
        out.write(f"NMARK= {len(markers)}\n")
        for name, edges in markers.items():
            out.write(f"MARKER_TAG= {name}\nMARKER_ELEMS= {len(edges)}\n")
            out.writelines(f"3 {a} {b}\n" for a, b in edges)


if __name__ == "__main__":
    main(*sys.argv[1:])
