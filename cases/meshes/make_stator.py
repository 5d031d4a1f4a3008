"""One passage of a ring of 20 vanes, hexahedra: cases/meshes/stator.su2.xz, and the same points as one block of a structured grid,
stator.p3dfmt.xz with stator.nmf. The vanes turn the flow by about 15 degrees.

Ahead of a vane and behind it the sides of the passage are periodic, turned by 18 degrees about the x axis; between them they are the
vanes' own surfaces.
"""

import lzma
import math
import os

VANES, HUB, TIP, CHORD = 20, 0.7, 1.0, 0.3
AHEAD, ALONG, BEHIND, AROUND, OUT = 10, 26, 14, 12, 7  # cells
PITCH = 2 * math.pi / VANES


def thickness(x):
    """Half of NACA 0008's, closed at its end."""
    return 0.4 * x_poly(x) if 0 < x < 1 else 0.0


def x_poly(x):
    a = (0.2969, -0.1260, -0.3516, 0.2843, -0.1036)
    return a[0] * math.sqrt(x) + sum(c * x ** (k + 1) for k, c in enumerate(a[1:]))


def camber(x):
    """A parabola of slope 0 at the nose and 0.3 at the end, straight on from there to level out."""
    if x <= 0:
        return 0.0
    return 0.15 * x * x if x <= 1 else 0.15 + 0.3 * (x - 1)


def stations():
    """Places along the axis in chords, closest at both ends of the vane."""
    ahead = [-1.0 * (1 - k / AHEAD) ** 1.7 for k in range(AHEAD)]
    along = [0.5 * (1 - math.cos(math.pi * k / ALONG)) for k in range(ALONG)]
    behind = [1 + 1.5 * (k / BEHIND) ** 1.7 for k in range(BEHIND + 1)]
    return ahead + along + behind


xs = stations()
ni, nj, nk = len(xs), AROUND + 1, OUT + 1
number = lambda i, j, k: (k * nj + j) * ni + i
nodes = []
for k in range(nk):
    r = HUB + (TIP - HUB) * k / OUT
    for j in range(nj):
        s = 0.5 * (1 - math.cos(math.pi * j / AROUND)) * 0.5 + 0.5 * j / AROUND
        for x in xs:
            middle, half = camber(x) * CHORD / r, thickness(x) * CHORD / r
            angle = middle + half + s * (PITCH - 2 * half)
            nodes.append((x * CHORD, r * math.cos(angle), r * math.sin(angle)))

hexes = []
for k in range(nk - 1):
    for j in range(nj - 1):
        for i in range(ni - 1):
            # Right-handed: out, around, along the axis.
            low = [number(i, j, k), number(i, j, k + 1), number(i, j + 1, k + 1), number(i, j + 1, k)]
            hexes.append(low + [n + 1 for n in low])

quads = {name: [] for name in ("inlet", "outlet", "hub", "tip", "low", "high", "vane")}
for j in range(nj - 1):
    for k in range(nk - 1):
        for name, i in (("inlet", 0), ("outlet", ni - 1)):
            quads[name].append([number(i, j, k), number(i, j + 1, k), number(i, j + 1, k + 1), number(i, j, k + 1)])
for i in range(ni - 1):
    for j in range(nj - 1):
        for name, k in (("hub", 0), ("tip", nk - 1)):
            quads[name].append([number(i, j, k), number(i + 1, j, k), number(i + 1, j + 1, k), number(i, j + 1, k)])
    for k in range(nk - 1):
        on_vane = AHEAD <= i < AHEAD + ALONG
        for side, j in (("low", 0), ("high", nj - 1)):
            quads["vane" if on_vane else side].append([number(i, j, k), number(i + 1, j, k), number(i + 1, j, k + 1), number(i, j, k + 1)])

lines = ["NDIME= 3", f"NELEM= {len(hexes)}"]
lines += ["12 " + " ".join(map(str, h)) + f" {e}" for e, h in enumerate(hexes)]
lines += [f"NPOIN= {len(nodes)}"] + [f"{x:.12g} {y:.12g} {z:.12g} {n}" for n, (x, y, z) in enumerate(nodes)]
lines += [f"NMARK= {len(quads)}"]
for name, faces in quads.items():
    lines += [f"MARKER_TAG= {name}", f"MARKER_ELEMS= {len(faces)}"] + ["9 " + " ".join(map(str, f)) for f in faces]
here = os.path.dirname(os.path.abspath(__file__))
with lzma.open(os.path.join(here, "stator.su2.xz"), "wt", preset=9) as packed:
    packed.write("\n".join(lines) + "\n")

# Ranges of points: j, k on the faces 3 and 4 (i), k, i on 5 and 6 (j), i, j on 1 and 2 (k).
first, last = AHEAD + 1, AHEAD + ALONG + 1
rows = [
    ("hub", f"1 1 1 {ni} 1 {nj}"),
    ("tip", f"1 2 1 {ni} 1 {nj}"),
    ("inlet", f"1 3 1 {nj} 1 {nk}"),
    ("outlet", f"1 4 1 {nj} 1 {nk}"),
    ("vane", f"1 5 1 {nk} {first} {last}"),
    ("vane", f"1 6 1 {nk} {first} {last}"),
]
for ends in (f"1 {nk} 1 {first}", f"1 {nk} {last} {ni}"):
    rows.append(("periodic", f"1 5 {ends} 1 6 {ends} FALSE"))
with open(os.path.join(here, "stator.nmf"), "w") as file:
    file.write(f"# The passage of make_stator.py\n1\n1 {ni} {nj} {nk}\n" + "".join(f"{a} {b}\n" for a, b in rows))
with lzma.open(os.path.join(here, "stator.p3dfmt.xz"), "wt", preset=9) as packed:
    packed.write(f"1\n{ni} {nj} {nk}\n")
    for d in range(3):
        packed.write("\n".join(f"{x[d]:.12g}" for x in nodes) + "\n")
