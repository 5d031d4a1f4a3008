#!/usr/bin/env python3
"""The table of docs/src/parallel.md, "To 1,024 GPUs": a plain iteration (15 sweeps, nb 5, ds) of n nodes on P GPUs, in ms.

T(P) = S (b sweep(m) + X) + b rest(m) + exchanges of states and sums, m = n / P, b the balance, as on that page. Curves were measured on
one H200 and are scaled by one point of an H100, 786,448 nodes (scaling-h100.md). Nothing of more than two GPUs was measured.
"""

SWEEP = [(6309, 13.2), (25000, 25.7), (103178, 62.0), (204983, 104.0), (394745, 177.0), (800322, 352.0), (983633, 430.0)]  # us
REST = [(14872, 0.14), (99972, 0.375), (786448, 2.29)]  # ms
GHOSTS = [(2, 1.3), (4, 2.3), (8, 3.3), (16, 3.9), (64, 5.2), (256, 6.0), (1024, 6.6)]  # c of c m^(2/3) ghosts, METIS on the M6
ALONE_SWEEPS, ALONE = 7.547, 10.402  # ms, 786,448 nodes on an H100
TWO_SWEEPS = 6.568  # ms on two, passed by events
SWEEPS, COLORS, NB, BALANCE, WORST = 15, 11, 5, 1.03, 1.5
SUMS = 0.34  # ms of exchanges of states and sums, two GPUs
BYTES, MEMORY = 3200, 78 * 2**30  # a node, a GPU


def along(table, x):
    """Straight between points and beyond the last ones; constant before the first."""
    x = max(x, table[0][0])
    pairs = list(zip(table, table[1:]))
    (a, fa), (b, fb) = next((pair for pair in pairs if x <= pair[1][0]), pairs[-1])
    return fa + (fb - fa) * (x - a) / (b - a)


SLOWER = [ALONE_SWEEPS * 1e3 / SWEEPS / along(SWEEP, 786448), (ALONE - ALONE_SWEEPS) / along(REST, 786448)]


def sweep(m):
    return SLOWER[0] * along(SWEEP, m)


def rest(m):
    return SLOWER[1] * along(REST, m)


# What a color costs beside its rows where events order the exchanges: from the two GPUs.
BY_EVENTS = (TWO_SWEEPS * 1e3 / SWEEPS - BALANCE * sweep(786448 / 2)) / COLORS
WAYS = {  # us a color whatever happens, latency in us, GB/s
    "within sweeps": (0.0, 2.3, 370.0),
    "by events": (BY_EVENTS, 0.0, 370.0),
    "staged": (BY_EVENTS, 25.0, 20.0),
}


def iteration(n, ranks, way):
    m = n / ranks
    if ranks == 1:
        return SWEEPS * sweep(m) / 1e3 + rest(m)
    fixed, latency, bandwidth = WAYS[way]
    ghosts = along(GHOSTS, ranks) * m ** (2 / 3)
    wire = WORST * ghosts * NB * 4 / bandwidth / 1e3
    inside = sweep(m) / COLORS * max(0.0, 1 - ghosts / m)
    color = fixed + max(0.0, latency + wire / COLORS - inside)
    return (SWEEPS * (BALANCE * sweep(m) + COLORS * color)) / 1e3 + BALANCE * rest(m) + SUMS


def table(title, ranks, ways):
    print(f"| {title} | way | " + " | ".join(str(p) for p in ranks) + " |\n|---|---|" + "---|" * len(ranks))
    for n in (1e6, 1e7, 1e8, 1e9, 1e10):
        for way in ways:
            cells = []
            for p in ranks:
                t = iteration(n, p, way)
                fits = n / p * BYTES < MEMORY and n / p > 3000
                cells.append(f"{t:.3g} ({100 * iteration(n, 1, way) / p / t:.0f} %)" if fits else "-")
            if any(cell != "-" for cell in cells):
                print(f"| {n:,.0f} | {way} | " + " | ".join(cells) + " |")
    print()


print(f"by events {BY_EVENTS:.1f} us a color; an H100 takes {SLOWER[0]:.2f} and {SLOWER[1]:.2f} times the curves\n")
table("nodes, GPUs of one host", (1, 2, 4, 8), ("within sweeps", "by events"))
table("nodes, GPUs of hosts", (16, 64, 256, 1024), ("staged",))
