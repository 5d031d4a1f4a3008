#!/usr/bin/env python3
"""The tables of docs/src/parallel.md, "To 1,024 GPUs": a plain iteration (15 sweeps, nb 5, ds) of n nodes on P GPUs, in ms; memory of a GPU,
set-up and files; and with files of `chromaflow bench scaling --json`, what the model says beside what they have.

    python3 bench/predicted.py [FILE.json ...]

The model and its numbers are those of crates/chromaflow-cli/src/bench/scaling/model.rs, of H200.
"""

import json
import math
import sys

SWEEP = [(0, 16), (5832, 20.7), (13824, 27.6), (27000, 32.3), (54872, 50.2), (103823, 77.8), (205379, 117.1), (405224, 190.4)]
SWEEP += [(804357, 361.4), (1000000, 453)]  # us, 10 colors
APART = 1.06  # sweeps of a part over those of a whole of as many rows
COLOR = 3.8  # us a color more
REST = [(0, 0.166), (5832, 0.179), (13824, 0.197), (27000, 0.237), (54872, 0.318), (103823, 0.48), (205379, 0.764), (405224, 1.318)]
REST += [(804357, 2.538), (6191003, 19.5)]  # ms
GHOSTS = [(1, 0), (2, 1.3), (4, 2.3), (8, 3.3), (16, 3.9), (64, 5.2), (256, 6.0), (1024, 6.6)]  # c of c m^(2/3) ghosts, METIS on the M6
NEIGHBORS = [(1, 0), (2, 1), (4, 3), (8, 7), (16, 10), (64, 19), (256, 20), (1024, 22)]  # most of a rank
SWEEPS, COLORS, NB, BALANCE, WORST = 15, 11, 5, 1.01, 1.5
REDUCTION = (10.0, 4.0)  # us, and for each doubling
STATE, LAYERS = 104, 2
BYTES, MEMORY = 3200, 139 * 2**30  # a node, a GPU
ROWS = 2**32  # rows of the whole system are counted by 32 bits
CORES = 16  # of the host, for each GPU
# Microseconds of one core a node, of 6,191,003 nodes on 16 cores (docs/src/performance.md, "Set-up"): what rank 0 does for all where it has the
# whole mesh (1.4 s of checks, 2.0 s of order), and what each rank does for its own (5.1 s); the cut of the graph, by one thread.
OF_ALL, OF_OWN, CUT = 8.8, 13.2, 4.0
SLICED = 100_000_000  # more nodes than these are read by slices: each rank does all of it for its part
MESH, RESTART, DISK = 116, 72, 5e9  # bytes a node of tetrahedra as binary UGRID, and of a restart; bytes a second that all ranks share, assumed
WAYS = {  # L us, GB/s, F us, E us, least us
    "within sweeps": (2.3, 370.0, 0.0, 0.25, 5.2),
    "by events": (2.3, 370.0, 11.0, 4.0, 0.0),
    "NCCL": (2.3, 370.0, 15.0, 0.0, 0.0),
    "NCCL, InfiniBand": (18.0, 45.0, 15.0, 0.0, 0.0),
}


def along(table, x):
    """Straight between points and beyond the last ones."""
    pairs = list(zip(table, table[1:]))
    (a, fa), (b, fb) = next((pair for pair in pairs if x <= pair[1][0]), pairs[-1])
    return fa + (fb - fa) * (x - a) / (b - a)


def sweep(m, colors):
    return along(SWEEP, m) + COLOR * (colors - 10)


def iteration(n, ranks, way, colors=COLORS, sent=None, neighbors=None, balance=BALANCE, alone=None):
    """ms; `alone` has those of one GPU and of its sweeps, where they were measured."""
    solver, rest = (alone[1], alone[0] - alone[1]) if alone else (SWEEPS * sweep(n, colors) / 1e3, along(REST, n))
    if ranks == 1:
        return solver + rest
    latency, bandwidth, fixed, each, least = WAYS[way]
    m = balance * n / ranks
    ghosts = along(GHOSTS, ranks) * (n / ranks) ** (2 / 3)
    sent = WORST * ghosts if sent is None else sent
    neighbors = along(NEIGHBORS, ranks) if neighbors is None else neighbors
    one = APART * solver / SWEEPS * sweep(m, colors) / sweep(n, colors)  # ms
    color = 1e3 * one / colors  # us
    wire = sent * NB * 4 / bandwidth / 1e3
    waits = max(0.0, latency + wire / colors - color * (1 - min(1, sent / m)), least - color)
    exchange = colors * (fixed + each * neighbors + waits) / 1e3
    more = (2 * latency + LAYERS * sent * STATE / bandwidth / 1e3 + 2 * (REDUCTION[0] + REDUCTION[1] * math.log2(ranks))) / 1e3
    return SWEEPS * (one + exchange) + more + rest * along(REST, m + LAYERS * sent) / along(REST, n)


def table(title, ranks, ways):
    print(f"| {title} | way | " + " | ".join(str(p) for p in ranks) + " |\n|---|---|" + "---|" * len(ranks))
    for n in (1e6, 4e6, 1.6e7, 1e8, 1e9, 1e10):
        for way in ways:
            cells = []
            for p in ranks:
                t = iteration(n, p, way)
                fits = n / p * BYTES < MEMORY and n / p > 3000
                cells.append(f"{t:.3g} ({100 * iteration(n, 1, way) / p / t:.0f} %)" if fits else "-")
            if any(cell != "-" for cell in cells):
                beyond = " (32-bit rows end at 4.29e9)" if n > ROWS else ""
                print(f"| {n:,.0f}{beyond} | {way} | " + " | ".join(cells) + " |")
    print()


def setup(n, ranks):
    """Seconds from the file to the first step, without the disk and without what ranks tell one another."""
    m = BALANCE * n / ranks + LAYERS * along(GHOSTS, ranks) * (n / ranks) ** (2 / 3)
    if n > SLICED:
        return (OF_ALL + OF_OWN) * m / CORES / 1e6
    return (OF_ALL * n / CORES + CUT * n + OF_OWN * m / CORES) / 1e6


def short(x):
    return f"{x:.0f}" if x >= 10 else f"{x:.2g}"


def besides(ranks):
    """Memory of a GPU, set-up and files."""
    heads = "".join(f" {p} GPUs: GB | set-up, s |" for p in ranks)
    print(f"| nodes | mesh from disk, s | restart to disk, s |{heads}\n|---|---|---|" + "---|---|" * len(ranks))
    for n in (1e6, 4e6, 1.6e7, 1e8, 1e9, 1e10):
        cells = []
        for p in ranks:
            m = BALANCE * n / p + LAYERS * along(GHOSTS, p) * (n / p) ** (2 / 3)
            fits = m * BYTES < MEMORY and n / p > 3000
            cells.append(f"{m * BYTES / 1e9:.3g} | {short(setup(n, p))}" if fits else "- | -")
        beyond = " (32-bit rows end at 4.29e9)" if n > ROWS else ""
        print(f"| {n:,.0f}{beyond} | {short(n * MESH / DISK)} | {short(n * RESTART / DISK)} | " + " | ".join(cells) + " |")
    print()


def beside(path):
    """Plain iterations of a file, exchanged after each color."""
    names = {"peer stores within sweeps": "within sweeps", "peer stores": "by events", "NCCL": "NCCL"}
    for found in json.load(open(path))["tables"]:
        rows = found["rows"]
        if "sweeps of multicolor" not in found["method"] or found["policy"] != "ds":
            continue
        first = rows[0]
        alone = (1e3 * first["median_s"], 1e3 * first["linear_s"]["mean"]) if first["ranks"] == 1 else None
        print(f"| {found['case']}, GPUs | way | measured, ms | model, ms | measured / model |\n|---|---|---|---|---|")
        for row in rows:
            if row["exchange"] != "color" or row["ranks"] == 1 or row["nodes"] != first["nodes"]:
                continue
            way = names.get(row["halo"].split(" (")[0])
            if way is None:
                continue
            sent, near = (max(part[key] for part in row["parts"]) for key in ("sent_rows", "neighbors"))
            model = iteration(row["nodes"], row["ranks"], way, row["colors"], sent, near, row["balance"], alone)
            ms = 1e3 * row["median_s"]
            print(f"| {row['ranks']} | {way} | {ms:.3f} | {model:.3f} | {ms / model:.2f} |")
        print()


table("nodes, GPUs of one host", (1, 2, 4, 8), ("within sweeps", "by events", "NCCL"))
table("nodes, GPUs of hosts", (16, 64, 256, 1024), ("NCCL, InfiniBand",))
besides((16, 64, 256, 1024))
for path in sys.argv[1:]:
    beside(path)
