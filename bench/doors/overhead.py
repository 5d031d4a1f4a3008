"""What a call from Python costs besides its work: microseconds a call on systems of a few rows, as overhead.c measures them."""

import timeit

import numpy as np
import scipy.sparse

import chromaflow

print(f"{'rows':12}{'1':>10}{'8':>10}{'64':>10}")
solvers = {}
for rows in (1, 8, 64):
    data = np.tile(np.where(np.eye(5) > 0, 2.0, 0.125), (rows, 1, 1))
    A = scipy.sparse.bsr_array((data, np.arange(rows), np.arange(rows + 1)), shape=(5 * rows, 5 * rows))
    solvers[rows] = (
        chromaflow.Solver(A, threads=1, preconditioner="ilu0", order="natural", policy="d"),
        data,
        np.ones(5 * rows),
        np.empty(5 * rows),
    )
for name, call in {
    "multiply": lambda s, data, b, x: s.multiply(b, out=x),
    "apply": lambda s, data, b, x: s.apply(b, out=x),
    "solve": lambda s, data, b, x: s.solve(b),
    "update": lambda s, data, b, x: s.update(data),
}.items():
    each = [min(timeit.repeat(lambda: call(*own), number=2000, repeat=10)) / 2000 for own in solvers.values()]
    print(f"{name:12}" + "".join(f"{1e6 * seconds:10.2f}" for seconds in each))
