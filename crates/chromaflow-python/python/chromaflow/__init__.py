"""Block-sparse linear solvers for implicit flow codes.

>>> import numpy as np, scipy.sparse, chromaflow
>>> blocks = np.array([[[4.0, 1.0], [0.0, 4.0]], [[-1.0, 0.0], [0.0, -1.0]]])
>>> A = scipy.sparse.bsr_array((blocks[[0, 1, 1, 0]], [0, 1, 0, 1], [0, 2, 4]), shape=(4, 4))
>>> solver = chromaflow.Solver(A, tolerance=1e-12)
>>> x, report = solver.solve(A @ np.ones(4))
>>> report.converged, bool(np.allclose(x, 1.0))
(True, True)
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _arrays, _chromaflow
from ._errors import (
    ArgumentError,
    DeviceError,
    Error,
    InternalError,
    NotFiniteError,
    NoValuesError,
    OperatorError,
    PatternError,
    RanksError,
    ResourceError,
    SingularError,
    UnsupportedError,
)
from .flow import Case, CaseError, Result

__all__ = [
    "ArgumentError",
    "Case",
    "CaseError",
    "Comm",
    "Context",
    "DeviceError",
    "Error",
    "InternalError",
    "NoValuesError",
    "NotFiniteError",
    "OperatorError",
    "PatternError",
    "RanksError",
    "Report",
    "ResourceError",
    "Result",
    "SingularError",
    "Solver",
    "UnsupportedError",
    "options",
]

_OUTCOMES = ("converged", "iteration_limit", "stagnated", "diverged", "breakdown", "stopped")


def options() -> dict[str, list[dict[str, str]]]:
    """Every option of contexts and solvers: name, values, default, help."""
    return json.loads(_chromaflow.options())


def _text(pairs: dict[str, Any]) -> str:
    word = {True: "yes", False: "no"}
    return ",".join(f"{k}={word[v] if isinstance(v, bool) else v}" for k, v in pairs.items())


class Context:
    """Threads or a GPU, shared by solvers. ``stream``: the address of a stream of the device's primary context."""

    def __init__(
        self, *, threads: int = 1, pin: bool = False, device: int | None = None, stream: int = 0
    ) -> None:
        pairs: dict[str, Any] = {"threads": threads, "pin": pin}
        if device is not None:
            pairs["device"] = device
        self._handle = _chromaflow.Context(_text(pairs), stream)
        self.device, self.stream = device, stream


class Comm:
    """The ranks of a program of MPI: of ``MPI_COMM_WORLD``, or of ``mpi``, a communicator of mpi4py or Fortran's number of one.

    MPI has to be under way (``from mpi4py import MPI``) and all ranks make it together. ``patience``: seconds after which a rank that
    does not answer is an error; ranks wait for ever without it.
    """

    def __init__(self, mpi: Any = None, *, patience: float | None = None) -> None:
        number = mpi.py2f() if hasattr(mpi, "py2f") else mpi
        self._handle = _chromaflow.Comm(number, "" if patience is None else _text({"patience": patience}))
        self.rank, self.size = self._handle.place()


@dataclass(frozen=True)
class Report:
    """How a solve went. That it does not converge is no exception."""

    outcome: str
    """converged, iteration_limit, stagnated, diverged, breakdown, or stopped by the callback"""
    iterations: int
    """Applications of the preconditioner."""
    residual: float
    """||b - A x|| / ||b||, computed from x in f64."""
    history: np.ndarray
    """The same before the first iteration and after each."""
    seconds: float

    @property
    def converged(self) -> bool:
        """Whether the tolerance was reached."""
        return self.outcome == "converged"


class Solver:
    """A block-sparse matrix and a method to solve with it.

    ``A``: a ``scipy.sparse`` matrix or array (``bsr`` as it lies; others by rows, with ``block_size``), one of
    ``cupyx.scipy.sparse`` with the same members, or ``(indptr, indices, data)`` with ``data [nnzb, nb, nb]``, each block
    by rows. Without values (``data`` None) only the pattern is set up. Vectors and values may be NumPy arrays or, with
    ``device``, arrays of CuPy, PyTorch or JAX, by ``__cuda_array_interface__`` or ``__dlpack__``, in place.

    ``comm``: ``A`` has the rows of one rank, from ``first_row`` on, of a matrix that all ranks of it have together, columns in global
    numbers, as petsc4py has them; all calls are those of all ranks. Vectors have own rows.

    ``ghosts``: columns behind the rows, which are rows of other ranks; see ``distribute``.

    Options are those of ``chromaflow.options()["solver"]``, and ``threads`` or ``device`` where no context is given.
    """

    def __init__(
        self,
        A: Any,
        *,
        block_size: int | None = None,
        context: Context | None = None,
        threads: int = 1,
        device: int | None = None,
        ghosts: int = 0,
        comm: Comm | None = None,
        first_row: int | None = None,
        **options: Any,
    ) -> None:
        if (comm is None) != (first_row is None):
            raise ArgumentError("comm and first_row go together: the first of this rank's rows in the whole matrix")
        indptr, indices, data, self.block_size = _parts(A, block_size, None if comm else ghosts)
        self._indptr, self._indices = indptr, indices
        self.rows, self.ghosts = len(indptr) - 1, ghosts
        self.shape = (self.rows * self.block_size,) * 2
        self.context = context or Context(threads=threads, device=device)
        arrays = (_arrays.raw(indptr, "indptr"), _arrays.raw(indices, "indices"))
        size = (self.rows, self.block_size, ghosts)
        ranks = None if comm is None or first_row is None else (comm._handle, int(first_row))
        self._handle = _chromaflow.Solver(self.context._handle, size, arrays, _text(options), ranks)
        self._global = comm is not None
        if data is not None:
            self.update(data)

    def update(self, data: Any, diagonal: Any = None) -> None:
        """New values: ``data`` of the matrix, or a matrix with the same pattern.

        ``diagonal [rows, nb, nb]`` where the pattern has no diagonal blocks.
        """
        if hasattr(data, "indptr"):
            indptr, indices, data, _ = _parts(data, self.block_size, None if self._global else self.ghosts)
            if not (np.array_equal(indptr, self._indptr) and np.array_equal(indices, self._indices)):
                raise PatternError("the matrix has another pattern than the solver: make a new solver for it")
        data = _arrays.values(data, "data")
        apart = _arrays.NONE
        if diagonal is not None:
            diagonal = _arrays.values(diagonal, "diagonal")
            apart = _arrays.raw(diagonal, "diagonal")
        with self._raw(data, "data") as given:
            self._handle.set_values(given, apart, 1)

    def option(self, **options: Any) -> None:
        """Changes options from the next call on; what the solver was set up with stays."""
        for key, value in options.items():
            self._handle.option(key, _text({key: value}).split("=", 1)[1])

    def solve(
        self, b: Any, x0: Any = None, callback: Callable[[int, float], object] | None = None
    ) -> tuple[Any, Report]:
        """x with A x = b, from the first guess ``x0`` or zero, and how it went.

        ``callback(iteration, residual)`` is called after each iteration but the last; False ends the solve there. Ctrl-C
        ends it, too (on a GPU after the solve).
        """
        x, reports = self._solve(1, b, x0, callback)
        return x, reports[0]

    def solve_many(self, b: Any, x0: Any = None) -> tuple[Any, list[Report]]:
        """The same for the rows of ``b [count, unknowns]``, right-hand sides; GMRES on a host solves eight of them at once."""
        return self._solve(len(b), b, x0, None)

    def _solve(
        self, count: int, b: Any, x0: Any, callback: Callable[[int, float], object] | None
    ) -> tuple[Any, list[Report]]:
        b = _arrays.values(b, "b")
        x = self._like(b)
        shape = np.shape(x0) if x0 is None or isinstance(x0, (list, tuple)) else getattr(x0, "shape", ())
        if tuple(shape) not in ((), tuple(x.shape)):
            raise ArgumentError(f"x0 has the shape {tuple(shape)}, expected that of b, {tuple(x.shape)}")
        x[...] = 0 if x0 is None else x0
        with self._raw(b, "b") as given, self._raw(x, "x") as found:
            told = self._handle.solve(count, given, found, callback)
        return x, [Report(_OUTCOMES[t[0]], t[1], t[2], np.array(t[3]), t[4]) for t in told]

    def apply(self, r: Any, out: Any = None) -> Any:
        """z = M r: the preconditioner alone."""
        return self._product(self._handle.apply, r, out)

    def multiply(self, x: Any, out: Any = None) -> Any:
        """y = A x."""
        return self._product(self._handle.multiply, x, out)

    def as_linear_operator(self) -> Any:
        """M for SciPy's methods: ``gmres(A, b, M=solver.as_linear_operator())``."""
        from scipy.sparse.linalg import LinearOperator

        return LinearOperator(self.shape, matvec=lambda r: self.apply(np.ravel(r)), dtype=np.float64)

    def matrix_free(self, operator: Callable[[np.ndarray, np.ndarray], None] | None) -> None:
        """Iterates with ``operator(x, y)``, which writes A x into y; the values only precondition then."""
        if operator is None:
            self._handle.operator(None)
            return

        def call(x: int, y: int, size: int) -> None:
            operator(_arrays.view(x, size), _arrays.view(y, size))

        self._handle.operator(call)

    def distribute(
        self, exchange: Callable[[int, np.ndarray], None], sum: Callable[[np.ndarray], None]
    ) -> None:
        """Makes this the rows of one rank of a matrix on several, all of which solve and multiply together from then on.

        ``exchange(phase, x)`` fills the ghosts of ``x [rows + ghosts, block_size]``, own rows first: phase 0 begins, phase 1
        waits for them (all may be done in 1). ``sum(values)`` replaces values by their sums over all ranks, in place.
        With mpi4py: ``lambda v: comm.Allreduce(MPI.IN_PLACE, v)``.
        """

        def swap(phase: int, x: int, size: int, nb: int) -> None:
            exchange(phase, _arrays.view(x, size).reshape(-1, nb))

        self._handle.distribute(swap, lambda values, size: sum(_arrays.view(values, size)))

    def order(self) -> tuple[np.ndarray, np.ndarray]:
        """The new row of each old one, and the first row of each color."""
        new_of_old, starts = self._handle.order(self.rows)
        return np.array(new_of_old), np.array(starts)

    def _like(self, array: Any) -> Any:
        if isinstance(array, np.ndarray):
            return np.empty_like(array)
        return array.copy() if hasattr(array, "copy") else array.clone()

    def _product(self, job: Callable[[_arrays.Raw, _arrays.Raw], None], given: Any, out: Any) -> Any:
        given = _arrays.values(given, "the vector")
        if out is None:
            out = self._like(given)
        elif type(out) is np.ndarray or not _arrays.on_device(out):
            _arrays.check_writable(out, "out")
        if type(given) is np.ndarray and type(out) is np.ndarray:  # the quick way
            job(_arrays.raw(given, "the vector"), _arrays.raw(out, "out"))
        else:
            with self._raw(given, "the vector") as r, self._raw(out, "out") as z:
                job(r, z)
        return out

    def _raw(self, array: Any, what: str) -> AbstractContextManager[_arrays.Raw]:
        return _arrays.lent(array, what, self.context.stream)


def _parts(A: Any, block_size: int | None, ghosts: int | None = 0) -> tuple[np.ndarray, np.ndarray, Any, int]:
    """Index arrays, values and block size of whatever is a matrix; without ``ghosts`` columns may be any."""
    if isinstance(A, tuple):
        if len(A) != 3:
            raise ArgumentError(f"a tuple of {len(A)}: expected (indptr, indices, data)")
        indptr, indices, data = A
        data = np.asarray(data) if isinstance(data, (list, tuple)) else data
        nb = block_size
        if nb is None:
            nb = data.shape[1] if data is not None and len(data.shape) == 3 else 1
    elif getattr(A, "format", None) == "bsr":
        if A.blocksize[0] != A.blocksize[1]:
            raise ArgumentError(f"blocks of {A.blocksize[0]} x {A.blocksize[1]}: expected square ones")
        if block_size not in (None, A.blocksize[0]):
            raise ArgumentError(f"block_size is {block_size}, but the blocks are {A.blocksize[0]} x {A.blocksize[1]}")
        indptr, indices, data, nb = A.indptr, A.indices, A.data, A.blocksize[0]
    elif hasattr(A, "tocsr"):
        nb = 1 if block_size is None else block_size
        if nb < 1 or any(n % nb for n in A.shape):
            raise ArgumentError(f"block_size is {nb}: expected one that a matrix of {A.shape[0]} x {A.shape[1]} is a multiple of")
        A = A.tocsr()
        if nb > 1:
            A = A.tobsr((nb, nb))
        indptr, indices, data = A.indptr, A.indices, A.data
    else:
        raise ArgumentError(f"{type(A).__name__} is no matrix: expected scipy.sparse, or (indptr, indices, data)")
    if ghosts is not None and hasattr(A, "shape") and A.shape[0] + ghosts * nb != A.shape[1]:
        more = f" and {ghosts} ghost columns" if ghosts else ""
        raise PatternError(f"a matrix of {A.shape[0]} x {A.shape[1]}: expected a square one{more}")
    indptr, indices = _arrays.host(indptr), _arrays.host(indices)
    if indptr.dtype != indices.dtype:
        indptr = indptr.astype(indices.dtype)
    return indptr, indices, data, int(nb)
