"""The package against SciPy, and against misuse."""

import doctest
import threading
import tracemalloc

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import gmres, spsolve

import chromaflow


def matrix(rows=60, nb=3, seed=1, index=np.int32):
    """Blocks with a heavy diagonal on a random pattern."""
    random = np.random.default_rng(seed)
    pattern = scipy.sparse.random(rows, rows, 0.08, random_state=random) + scipy.sparse.eye(rows)
    pattern = scipy.sparse.csr_matrix(pattern)
    data = random.uniform(-1, 1, (pattern.nnz, nb, nb))
    for row in range(rows):
        for k in range(pattern.indptr[row], pattern.indptr[row + 1]):
            if pattern.indices[k] == row:
                data[k] += 12 * np.eye(nb)
    parts = (data, pattern.indices.astype(index), pattern.indptr.astype(index))
    return scipy.sparse.bsr_array(parts, shape=(rows * nb, rows * nb))


@pytest.mark.parametrize("options", [{}, {"preconditioner": "ilu1"}, {"method": "bicgstab", "policy": "dsh"}])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_solutions_are_those_of_scipy(options, index):
    A = matrix(index=index)
    b = np.cos(np.arange(A.shape[0]))
    x, report = chromaflow.Solver(A, threads=2, **options).solve(b)
    assert report.converged and report.residual <= 1e-10
    assert report.history[0] == 1.0 and report.history[-1] <= 1e-10
    assert np.allclose(x, spsolve(A.tocsc(), b), atol=1e-8)


def test_other_forms_of_a_matrix():
    A = matrix()
    b = np.ones(A.shape[0])
    x, _ = chromaflow.Solver(A).solve(b)
    for given, words in [
        (A.tocsr(), {"block_size": 3}),
        (A.tocoo(), {"block_size": 3}),
        ((A.indptr, A.indices, A.data), {}),
    ]:
        assert np.allclose(chromaflow.Solver(given, **words).solve(b)[0], x, atol=1e-8)
    assert np.allclose(chromaflow.Solver(A.tocsr()).solve(b)[0], x, atol=1e-8)  # scalar rows
    single, _ = chromaflow.Solver(A, tolerance=1e-5).solve(b.astype(np.float32))
    assert single.dtype == np.float32 and np.allclose(single, x, atol=1e-4)


def test_products_and_scipys_methods():
    A = matrix()
    solver = chromaflow.Solver(A, preconditioner="ilu0")
    v = np.sin(np.arange(A.shape[0]))
    assert np.allclose(solver.multiply(v), A @ v)
    out = np.empty_like(v)
    assert solver.apply(v, out=out) is out and np.array_equal(out, solver.apply(v))
    x, info = gmres(A, v, rtol=1e-10, M=solver.as_linear_operator())
    assert info == 0 and np.allclose(A @ x, v, atol=1e-8)
    new_of_old, starts = solver.order()
    assert sorted(new_of_old) == list(range(60)) and starts[0] == 0 and starts[-1] == 60


def test_new_values_and_memory():
    A = matrix()
    solver = chromaflow.Solver(A)
    b = np.ones(A.shape[0])
    solver.update(A.data)
    solver.solve(b)
    tracemalloc.start()
    for step in range(1000):
        solver.update(A.data)
        if step == 10:
            before = tracemalloc.get_traced_memory()[0]
    assert tracemalloc.get_traced_memory()[0] < before + 10_000
    tracemalloc.stop()
    twice = A.copy()
    twice.data *= 2
    solver.update(twice)
    assert np.allclose(twice @ solver.solve(b)[0], b, atol=1e-8)
    with pytest.raises(chromaflow.PatternError, match="another pattern"):
        solver.update(matrix(seed=2))


def test_a_callers_operator():
    A = matrix()
    solver = chromaflow.Solver(A)
    b = np.ones(A.shape[0])

    def twice(x, y):
        y[:] = 2 * (A @ x)

    solver.matrix_free(twice)
    x, report = solver.solve(b)
    assert report.converged and np.allclose(2 * (A @ x), b, atol=1e-8)

    def broken(x, y):
        raise KeyboardInterrupt

    solver.matrix_free(broken)
    with pytest.raises(KeyboardInterrupt):
        solver.solve(b)
    solver.matrix_free(None)
    assert np.allclose(A @ solver.solve(b)[0], b, atol=1e-8)


def test_misuse():
    A = matrix()
    n = A.shape[0]
    solver = chromaflow.Solver((A.indptr, A.indices, None), block_size=3)
    with pytest.raises(chromaflow.NoValuesError):
        solver.solve(np.ones(n))
    with pytest.raises(chromaflow.ArgumentError, match="values has"):
        solver.update(A.data[1:])
    bad = A.data.copy()
    bad[5, 1, 2] = np.nan
    with pytest.raises(chromaflow.NotFiniteError, match=r"entry \(1, 2\)") as caught:
        solver.update(bad)
    row = int(np.searchsorted(A.indptr, 5, side="right") - 1)
    assert (caught.value.row, caught.value.col) == (row, A.indices[5])
    assert isinstance(caught.value, ValueError)
    with pytest.raises(chromaflow.SingularError):
        solver.update(A.data * 0)
    solver.update(A.data)
    with pytest.raises(chromaflow.ArgumentError, match="b has"):
        solver.solve(np.ones(n - 1))
    with pytest.raises(chromaflow.NotFiniteError, match="b\\[3\\] is inf"):
        solver.solve(np.where(np.arange(n) == 3, np.inf, 1.0))
    with pytest.raises(chromaflow.ArgumentError, match="share memory"):
        v = np.ones(n)
        solver.apply(v, out=v)
    with pytest.raises(chromaflow.ArgumentError, match="out is no"):
        solver.apply(np.ones(n), out=np.ones((n, 2))[:, 0])
    with pytest.raises(chromaflow.ArgumentError, match="did you mean `tolerance`"):
        chromaflow.Solver(A, tolerence=1e-3)
    with pytest.raises(chromaflow.ArgumentError, match="fixed when"):
        solver.option(preconditioner="none")
    with pytest.raises(chromaflow.PatternError, match="outside the matrix"):
        chromaflow.Solver((A.indptr, A.indices + 1, A.data))
    with pytest.raises(chromaflow.ArgumentError, match="no matrix"):
        chromaflow.Solver(np.eye(3))
    with pytest.raises(chromaflow.ArgumentError, match="expected a whole number from 1"):
        chromaflow.Solver(A, threads=0)


def test_two_threads_on_one_solver():
    A = matrix()
    solver = chromaflow.Solver(A)
    found = []

    def other():
        try:
            solver.apply(np.ones(A.shape[0]))
        except chromaflow.ArgumentError as error:
            found.append(str(error))

    def operator(x, y):
        if not found:
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
        y[:] = A @ x

    solver.matrix_free(operator)
    assert solver.solve(np.ones(A.shape[0]))[1].converged
    assert "one call at a time" in found[0]


def test_options_are_listed():
    listed = {option["name"] for option in chromaflow.options()["solver"]}
    assert {"method", "preconditioner", "tolerance"} <= listed


def test_the_docs_example():
    assert doctest.testmod(chromaflow).failed == 0
