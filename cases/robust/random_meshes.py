#!/usr/bin/env python3
"""Runs thousands of small random meshes at random Mach numbers with default settings, and counts what becomes of them.

    python3 random_meshes.py [--count 10000] [--seed 1] [--program chromaflow] [--jobs 2] [--iterations 300] [--keep FOLDER]

A case is a channel over a bump or an O-mesh around an ellipse, of quadrilaterals, triangles or both, stretched towards the wall,
its nodes moved at random, random cells cut into smaller ones; Mach 0.01 to 5, any of them as likely by logarithm; inviscid or laminar. Needs
Python alone.

Exit status 1 where something happened that must not: a run without an outcome, a time limit, a number that is not finite in what it wrote.
Each such case, and with --keep each that did not converge, is kept with its mesh.
"""

import argparse
import collections
import concurrent.futures
import json
import math
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TIME_LIMIT = 120
BANDS = [(0.01, 0.1), (0.1, 0.8), (0.8, 1.3), (1.3, 5)]


def graded(t, growth, cells):
    """The share of the way that the first t of all cells take, each this much higher than the one before."""
    return t if growth == 1 else (growth ** (t * cells) - 1) / (growth**cells - 1)


def area(points, cell):
    return 0.5 * sum(
        points[a][0] * points[b][1] - points[b][0] * points[a][1] for a, b in zip(cell, cell[1:] + cell[:1])
    )


def is_good(points, cell):
    """Whether every corner turns left, as seen from a counterclockwise cell, and not by almost nothing."""
    n = len(cell)
    corners = ([cell[k - 1], cell[k], cell[(k + 1) % n]] for k in range(n))
    return all(area(points, corner) > 0.05 * area(points, cell) for corner in corners)


class Grid:
    """Structured cells between a wall (j = 0) and an outer line, then made irregular."""

    def __init__(self, dice, nodes, columns, rows, around):
        self.dice, self.points, self.columns, self.rows, self.around = dice, nodes, columns, rows, around
        wide = columns if around else columns + 1
        self.at = lambda i, j: j * wide + i % wide
        self.fixed = {self.at(i, j) for i in range(wide) for j in (0, rows)}
        if not around:
            self.fixed |= {self.at(i, j) for i in (0, columns) for j in range(rows + 1)}
        at = self.at
        cells = [[at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)] for j in range(rows) for i in range(columns)]
        share = dice.choice([0, 0, 0.5, 1, 1])
        self.cells = []
        for cell in cells:
            a, b, c, d = cell if dice.random() < 0.5 else cell[1:] + cell[:1]
            self.cells += [[a, b, c], [a, c, d]] if dice.random() < share else [cell]

    def edges(self, line):
        return [(self.at(i, line), self.at(i + 1, line)) for i in range(self.columns)]

    def side(self, column):
        return [(self.at(column, j), self.at(column, j + 1)) for j in range(self.rows)]

    def move(self, amount):
        """Moves nodes by up to so much of their shortest edge, where their cells stay good."""
        cells_of = collections.defaultdict(list)
        for cell in self.cells:
            for node in cell:
                cells_of[node].append(cell)
        for node in range(len(self.points)):
            if node in self.fixed:
                continue
            x = self.points[node]
            shortest = min(
                math.dist(x, self.points[other]) for cell in cells_of[node] for other in cell if other != node
            )
            angle, way = self.dice.uniform(0, 2 * math.pi), self.dice.uniform(0, amount) * shortest
            self.points[node] = (x[0] + way * math.cos(angle), x[1] + way * math.sin(angle))
            if not all(is_good(self.points, cell) for cell in cells_of[node]):
                self.points[node] = x

    def cut(self, count):
        """Cuts random cells into triangles around a new node."""
        for _ in range(count):
            cell = self.cells.pop(self.dice.randrange(len(self.cells)))
            middle = tuple(sum(self.points[node][d] for node in cell) / len(cell) for d in range(2))
            self.points.append(middle)
            self.cells += [[a, b, len(self.points) - 1] for a, b in zip(cell, cell[1:] + cell[:1])]

    def su2(self, markers):
        kinds = {3: 5, 4: 9}
        lines = ["NDIME= 2", f"NELEM= {len(self.cells)}"]
        lines += [" ".join(map(str, [kinds[len(cell)], *cell])) for cell in self.cells]
        lines += [f"NPOIN= {len(self.points)}"] + [f"{x!r} {y!r}" for x, y in self.points]
        lines += [f"NMARK= {len(markers)}"]
        for name, edges in markers.items():
            lines += [f"MARKER_TAG= {name}", f"MARKER_ELEMS= {len(edges)}"] + [f"3 {a} {b}" for a, b in edges]
        return "\n".join(lines) + "\n"


def channel(dice):
    columns, rows, growth = dice.randrange(6, 25), dice.randrange(5, 17), dice.choice([1, 1.1, 1.3])
    length, height, bump = dice.uniform(2, 4), dice.uniform(0.7, 3), dice.uniform(0, 0.15)

    def point(i, j):
        x = length * (i / columns - 0.5)
        low = bump * math.cos(math.pi * x) ** 2 if abs(x) < 0.5 else 0
        return x, low + (height - low) * graded(j / rows, growth, rows)

    nodes = [point(i, j) for j in range(rows + 1) for i in range(columns + 1)]
    grid = Grid(dice, nodes, columns, rows, False)
    markers = {"wall": grid.edges(0), "top": grid.edges(rows), "inlet": grid.side(0), "outlet": grid.side(columns)}
    return grid, markers


def ellipse(dice):
    columns, rows, growth = 2 * dice.randrange(8, 21), dice.randrange(8, 21), dice.uniform(1.1, 1.5)
    thickness, radius = 10 ** dice.uniform(-1, 0), 10 ** dice.uniform(0.7, 1.7)

    def point(i, j):
        angle, t = -2 * math.pi * i / columns, graded(j / rows, growth, rows)
        near, far = (0.5 * math.cos(angle), 0.5 * thickness * math.sin(angle)), (radius * math.cos(angle), radius * math.sin(angle))
        return near[0] + t * (far[0] - near[0]), near[1] + t * (far[1] - near[1])

    # Clockwise along the wall, so that cells outside it are counterclockwise.
    nodes = [point(i, j) for j in range(rows + 1) for i in range(columns)]
    grid = Grid(dice, nodes, columns, rows, True)
    return grid, {"wall": grid.edges(0), "far": grid.edges(rows)}


def case_of(dice):
    """Mesh, case file, and what it is called in the table."""
    name, make = dice.choice([("channel", channel), ("ellipse", ellipse)])
    grid, markers = make(dice)
    grid.move(dice.choice([0, 0.1, 0.3]))
    grid.cut(int(dice.choice([0, 0, 0.05, 0.3]) * len(grid.cells)))
    if any(area(grid.points, cell) <= 0 for cell in grid.cells):
        return None
    mach, viscous = 10 ** dice.uniform(-2, math.log10(5)), dice.random() < 0.4
    alpha = dice.uniform(-10, 10) if name == "ellipse" else 0
    wall = "no_slip" if viscous else "slip_wall"
    boundary = {"wall": wall, "far": "farfield"} if name == "ellipse" else {
        "wall": wall,
        "top": dice.choice(["slip_wall", "farfield"]),
        "inlet": "farfield",
        "outlet": "extrapolation" if mach > 1.2 else "farfield",
    }
    lines = ["[mesh]", 'file = "mesh.su2"', "[flow]", f"mach = {mach}", f"alpha = {alpha}"]
    if viscous:
        lines += ['equations = "laminar"', f"reynolds = {10 ** dice.uniform(1, 4.5)}", "temperature = 300.0"]
    lines += ["[boundary]"] + [f'{marker} = "{kind}"' for marker, kind in boundary.items()]
    kind = f"{name}, {'laminar' if viscous else 'inviscid'}"
    return grid.su2(markers), "\n".join(lines) + "\n", kind, mach


def not_finite(value):
    if isinstance(value, dict):
        return any(map(not_finite, value.values()))
    if isinstance(value, list):
        return any(map(not_finite, value))
    return isinstance(value, float) and not math.isfinite(value)


def run(options, number):
    dice = random.Random(f"{options.seed}.{number}")
    case = None
    while case is None:
        case = case_of(dice)
    mesh, text, kind, mach = case
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "mesh.su2").write_text(mesh)
        (folder / "case.toml").write_text(text)
        command = [options.program, "-q", "--threads", "1", "--json", "summary.json", "run", "case.toml", "--out", "out"]
        for key in ["output.plots=false", f"march.iterations={options.iterations}"]:
            command += ["--set", key]
        try:
            told = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=TIME_LIMIT)
            summary = json.loads((folder / "summary.json").read_text())
            outcome = summary["outcome"]
            if not_finite(summary) or "nan" in (folder / "out" / "forces.csv").read_text().lower():
                outcome = "NOT FINITE"
        except subprocess.TimeoutExpired:
            outcome = "TIME LIMIT"
        except (OSError, ValueError, KeyError):
            outcome = "NO OUTCOME: " + " ".join(told.stderr.split())[-200:]
        bad = outcome[0].isupper()
        if options.keep and (bad or outcome != "converged"):
            target = options.keep / f"{number}"
            shutil.copytree(folder, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("out"))
    return number, kind, mach, outcome


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--program", default="chromaflow")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    options.program = shutil.which(options.program) or options.program
    counts, faults = collections.defaultdict(collections.Counter), []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for number, kind, mach, outcome in pool.map(lambda k: run(options, k), range(options.count)):
            if outcome[0].isupper():
                faults.append((number, kind, mach, outcome))
            band = next(band for band in BANDS if mach <= band[1])
            counts[kind, band][outcome.split(":")[0]] += 1
    outcomes = sorted({outcome for counter in counts.values() for outcome in counter})
    print(f"| case | Mach | {' | '.join(outcomes)} |\n|---|---|{'---|' * len(outcomes)}")
    for (kind, band), counter in sorted(counts.items()):
        print(f"| {kind} | {band[0]} to {band[1]} | {' | '.join(str(counter[o]) for o in outcomes)} |")
    total = sum(counts.values(), collections.Counter())
    print(f"| all | | {' | '.join(str(total[o]) for o in outcomes)} |")
    for fault in faults:
        print("case %d (%s, Mach %.3f): %s" % fault)
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
