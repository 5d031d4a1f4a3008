"""The package against SciPy, and against misuse."""

import doctest
import gc
import os
import signal
import threading
import time
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
    assert np.allclose(chromaflow.Solver(A).solve(b.astype(np.longdouble))[0], x, atol=1e-8)
    assert chromaflow.Solver(([0, 1], [0], [4.0])).solve([2.0])[0] == [0.5]
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
    with pytest.raises(chromaflow.ArgumentError, match="x0 has the shape"):
        solver.solve(np.ones(n), np.ones(3))
    for size in (0, 7):
        with pytest.raises(chromaflow.ArgumentError, match=f"block_size is {size}"):
            chromaflow.Solver(A.tocsr(), block_size=size)
    huge = A.data.copy()
    huge[5, 1, 2] = 1e60
    with pytest.raises(chromaflow.NotFiniteError, match="take policy d"):
        solver.update(huge)


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


def test_several_right_hand_sides():
    A = matrix()
    solver = chromaflow.Solver(A)
    b = np.cos(np.arange(3 * A.shape[0])).reshape(3, -1)
    x, reports = solver.solve_many(b)
    assert len(reports) == 3 and all(r.converged and r.history[-1] == r.residual for r in reports)
    assert np.array_equal(x[1], solver.solve(b[1])[0])
    assert np.allclose((A @ x.T).T, b, atol=1e-8)
    with pytest.raises(chromaflow.ArgumentError, match="2 vectors one after the other"):
        solver.solve_many(np.ones((2, 5)))
    x, reports = solver.solve_many(np.ones((0, A.shape[0])))
    assert x.shape == (0, A.shape[0]) and reports == []


@pytest.mark.parametrize("size", [1e-300, 1e-100, 1e100, 1e300])
@pytest.mark.parametrize("options", [{}, {"method": "richardson", "preconditioner": "multicolor"}])
def test_solutions_are_as_large_as_right_hand_sides(size, options):
    A = matrix()
    b = np.cos(np.arange(A.shape[0]))
    x, report = chromaflow.Solver(A, **options).solve(b * size)
    assert report.converged and np.allclose(x / size, spsolve(A.tocsc(), b), atol=1e-8)


def laplacian(n=60):
    one = scipy.sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    eye = scipy.sparse.eye_array(n)
    return scipy.sparse.csr_array(scipy.sparse.kron(one, eye) + scipy.sparse.kron(eye, one))


def test_a_callback_watches_and_ends_a_solve():
    A = laplacian()
    solver = chromaflow.Solver(A, preconditioner="jacobi")
    b, seen = np.ones(A.shape[0]), []
    x, report = solver.solve(b, callback=lambda *row: seen.append(row))
    assert report.converged and [row[0] for row in seen] == list(range(1, report.iterations))
    assert np.allclose([row[1] for row in seen], report.history[1:-1])
    y, report = solver.solve(b, callback=lambda iteration, residual: iteration < 7)
    assert (report.outcome, report.iterations) == ("stopped", 7)
    assert np.isclose(np.linalg.norm(b - A @ y), report.residual * np.linalg.norm(b))

    def broken(iteration, residual):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        solver.solve(b, callback=broken)
    assert np.array_equal(solver.solve(b)[0], x)


def test_ctrl_c_ends_a_solve_that_nobody_watches():
    A = laplacian(400)
    solver = chromaflow.Solver(A, preconditioner="none", tolerance=1e-15, restart=30, longest_restart=30)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    start = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        for _ in range(1000):
            solver.solve(np.ones(A.shape[0]))
    timer.join()
    assert time.monotonic() - start < 60


def test_ranks_of_a_host_program():
    # A ring cut before its first row, on one rank: columns n and n + 1 are the last row and the first again.
    n, nb = 40, 2
    random = np.random.default_rng(3)
    blocks = random.uniform(-1, 1, (n, 3, nb, nb)) + np.array([0, 7, 0])[None, :, None, None] * np.eye(nb)
    columns = np.array([[n if i == 0 else i - 1, i, n + 1 if i == n - 1 else i + 1] for i in range(n)])
    pattern = (np.arange(0, 3 * n + 1, 3), columns.ravel(), blocks.reshape(-1, nb, nb))
    cut = scipy.sparse.bsr_array((pattern[2], pattern[1], pattern[0]), shape=(n * nb, (n + 2) * nb))
    whole = scipy.sparse.bsr_array((pattern[2], np.where(columns == n, n - 1, columns % (n + 1)).ravel(), pattern[0]))
    b = np.sin(np.arange(n * nb))
    with pytest.raises(chromaflow.PatternError, match="expected a square one"):
        chromaflow.Solver(cut)
    for words in ({}, {"preconditioner": "multicolor", "sweeps": 3}, {"preconditioner": "jacobi", "method": "bicgstab"}):
        solver = chromaflow.Solver(cut, ghosts=2, **words)
        with pytest.raises(chromaflow.ArgumentError, match="2 ghost columns"):
            solver.solve(b)
        phases, sums = [], []

        def exchange(phase, x):
            phases.append(phase)
            assert x.shape == (n + 2, nb)
            if phase == 1:
                x[n:] = x[[n - 1, 0]]

        solver.distribute(exchange, lambda values: sums.append(len(values)))
        assert np.allclose(solver.multiply(b), whole @ b)
        x, report = solver.solve(b)
        assert report.converged and np.allclose(whole @ x, b, atol=1e-8)
        assert phases == [0, 1] * (len(phases) // 2) and sums

    def cable(phase, x):
        raise ConnectionError("cut")

    solver.distribute(cable, lambda values: None)
    with pytest.raises(ConnectionError, match="cut"):
        solver.solve(b)


def test_ranks_of_mpi_are_refused_without_it():
    with pytest.raises(chromaflow.RanksError, match="MPI"):
        chromaflow.Comm()
    with pytest.raises(chromaflow.ArgumentError, match="patience"):
        chromaflow.Comm(patience=-1)
    with pytest.raises(chromaflow.ArgumentError, match="go together"):
        chromaflow.Solver(scipy.sparse.eye_array(3), first_row=0)


class OnlyDLPack:
    """An array that DLPack alone reaches; of the host, or said to lie on a device."""

    def __init__(self, array, device=None):
        self.array, self.device, self.streams = array, device, []

    def __dlpack_device__(self):
        return self.device or self.array.__dlpack_device__()

    def __dlpack__(self, *, stream=None, **words):
        self.streams.append(stream)
        return self.array.__dlpack__(**words)


def test_dlpack():
    from chromaflow import _arrays

    A = matrix()
    solver, b = chromaflow.Solver(A), np.ones(A.shape[0])
    x, _ = solver.solve(b)
    assert np.array_equal(solver.solve(OnlyDLPack(b))[0], x)
    for kind, code in ((np.float64, 6), (np.float32, 5), (np.int64, 2)):
        array = np.arange(24, dtype=kind).reshape(2, 3, 4)
        there = OnlyDLPack(array, (2, 0))
        assert _arrays.on_device(there) and _arrays.values(there, "v") is there
        with _arrays.lent(there, "v", 0) as found:
            assert found == (array.ctypes.data, 24, code, 1)
        with _arrays.lent(there, "v", 77):
            pass
        assert there.streams == [1, 77]
    part = OnlyDLPack(np.zeros((4, 4))[:, :2], (2, 0))
    with pytest.raises(chromaflow.UnsupportedError, match="strided on its device"), _arrays.lent(part, "v", 0):
        pass
    half = OnlyDLPack(np.zeros(4, np.float16), (2, 0))
    with pytest.raises(chromaflow.UnsupportedError, match="16 bits"), _arrays.lent(half, "v", 0):
        pass
    held = np.zeros(5)
    with _arrays.lent(OnlyDLPack(held, (2, 0)), "v", 0):
        pass
    gc.collect()
    with pytest.raises(chromaflow.UnsupportedError, match="lies on a device"):
        solver.apply(OnlyDLPack(b, (2, 0)), out=np.empty_like(b))


def test_the_docs_examples():
    from chromaflow import flow

    assert doctest.testmod(chromaflow).failed == 0
    assert doctest.testmod(flow).failed == 0
