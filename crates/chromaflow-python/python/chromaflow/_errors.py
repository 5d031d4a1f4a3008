"""What goes wrong, with its place."""

from __future__ import annotations


class Error(Exception):
    """A call that could not be done: the text says what, where and what to do.

    ``row`` and ``col`` are the block row and column it is about, or None.
    """

    def __init__(self, text: str, row: int = -1, col: int = -1) -> None:
        super().__init__(text)
        self.row = row if row >= 0 else None
        self.col = col if col >= 0 else None


class ArgumentError(Error, ValueError):
    """A length, type or option; two calls on one solver at once."""


class PatternError(Error, ValueError):
    """Index arrays that make no pattern."""


class NotFiniteError(Error, ValueError):
    """NaN or infinity in values, right-hand side or first guess."""


class SingularError(Error, ArithmeticError):
    """A diagonal block without inverse."""


class NoValuesError(Error, RuntimeError):
    """Nothing to solve with yet."""


class UnsupportedError(Error, NotImplementedError):
    """Not to be had on this device or for this type."""


class ResourceError(Error, MemoryError):
    """The system refused memory or a thread."""


class DeviceError(Error, RuntimeError):
    """The GPU or its driver."""


class OperatorError(Error, RuntimeError):
    """The caller's operator failed."""


class RanksError(Error, RuntimeError):
    """No MPI under way, or another rank that has failed or does not answer."""


class InternalError(Error, RuntimeError):
    """An error of chromaflow's; please report it."""


_KINDS = [
    ArgumentError,
    PatternError,
    NotFiniteError,
    SingularError,
    NoValuesError,
    UnsupportedError,
    ResourceError,
    DeviceError,
    OperatorError,
    InternalError,
    RanksError,
]


def of(status: int, text: str, row: int, col: int) -> Error:
    """The exception of a status of the C interface."""
    return _KINDS[status - 1](text, row, col)
