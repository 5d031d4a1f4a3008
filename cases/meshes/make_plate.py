#!/usr/bin/env python3
"""Makes a plate for wall functions: the places along the plate of NASA's TMR grid of 69 x 49, and cells away from it that grow
by 1.118 from the height that has the given y+ at x = 0.97 with its Reynolds number, 5 million, and friction, 0.0027.

    make_plate.py DATA/mesh2d/flatplate_turb_069x049.su2.xz 60 plate_y60.su2
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


def main(grid, units, output):
    lines = lzma.open(grid, "rt").read().split("\n")
    start = next(i for i, line in enumerate(lines) if line.startswith("NPOIN"))
    nodes = int(lines[start].split("=")[1].split()[0])
    xs = sorted({round(float(line.split()[0]), 12) for line in lines[start + 1 : start + 1 + nodes]})
    ys = heights(float(units) / (FRICTION_VELOCITY * REYNOLDS))
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
