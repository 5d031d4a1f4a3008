"""Two coupled unknowns on a 40 x 40 grid, three implicit steps with growing time step: pattern once, values every step."""

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import gmres

import chromaflow

N, NB = 40, 2
ROWS = N * N
WEIGHT = (-1.2, -1.1, -0.8, -0.9)


def neighbors(row):
    """West, south, east and north of a row, as far as they are there, with their weights."""
    i, j = row % N, row // N
    around = ((i - 1, j), (i, j - 1), (i + 1, j), (i, j + 1))
    return [(y * N + x, w) for (x, y), w in zip(around, WEIGHT) if 0 <= x < N and 0 <= y < N]


def system(shift):
    indptr, indices, blocks = [0], [], []
    for row in range(ROWS):
        indices.append(row)  # the diagonal block comes first
        blocks.append([[4 + shift, 1], [-0.5, 4 + shift]])
        for col, weight in neighbors(row):
            indices.append(col)
            blocks.append(weight * np.eye(NB))
        indptr.append(len(indices))
    size = (ROWS * NB, ROWS * NB)
    return scipy.sparse.bsr_array((np.array(blocks), indices, indptr), shape=size)


b = np.ones(ROWS * NB)
solver, x = None, None
for shift in (10.0, 1.0, 0.1):
    A = system(shift)
    if solver is None:
        solver = chromaflow.Solver(A, threads=2, preconditioner="ilu0", policy="d")
    else:
        solver.update(A.data)
    x, report = solver.solve(b, x)
    assert report.converged and np.linalg.norm(b - A @ x) <= 1.1e-10 * np.linalg.norm(b)
    print(f"{report.iterations} iterations, x(1) = {x[0]:.16e}")

# The preconditioner alone, in a method of SciPy's.
y, info = gmres(A, b, rtol=1e-10, M=solver.as_linear_operator())
assert info == 0 and np.allclose(x, y)
