"""Arrays of the host and of devices, as the library takes them."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ._errors import ArgumentError, UnsupportedError

Raw = tuple[int, int, int, int]

_TYPES = {"i4": 1, "i8": 2, "u4": 3, "u8": 4, "f4": 5, "f8": 6}
# The same by NumPy's letters, which are quicker to look at than a dtype: this stands in the way of every call.
_LETTERS = {np.dtype(kind).char: code for kind, code in _TYPES.items()}
_FLOATS = ("d", "f")
_HOST, _CUDA = 0, 1
NONE: Raw = (0, 0, _TYPES["f8"], _HOST)


def on_device(array: Any) -> bool:
    """Whether it lies on a CUDA device."""
    return hasattr(array, "__cuda_array_interface__")


def host(array: Any) -> np.ndarray:
    """Index arrays on the host, wherever they came from."""
    return np.ascontiguousarray(array.get() if hasattr(array, "get") else array)


def values(array: Any, what: str) -> Any:
    """f64 or f32, contiguous by rows: a view where it is so already."""
    if type(array) is np.ndarray and array.dtype.char in _FLOATS and array.dtype.isnative and array.flags.c_contiguous:
        return array
    if on_device(array):
        return array
    array = np.asarray(array)
    if array.dtype == np.float32:
        return np.ascontiguousarray(array)
    if array.dtype.kind not in "fiub":
        raise ArgumentError(f"{what} has entries {array.dtype}: expected real numbers")
    return np.ascontiguousarray(array, dtype=np.float64)


def check_writable(array: Any, what: str) -> None:
    """Refuses what results cannot go into."""
    usable = isinstance(array, np.ndarray) and array.dtype.char in _FLOATS and array.dtype.isnative
    if not (usable and array.flags.c_contiguous and array.flags.writeable):
        raise ArgumentError(f"{what} is no contiguous array of floats that can be written")


def raw(array: Any, what: str) -> Raw:
    """Address, entries, type, place. The caller keeps the array alive."""
    if type(array) is np.ndarray and array.dtype.char in _LETTERS and array.dtype.isnative:
        return (array.__array_interface__["data"][0], array.size, _LETTERS[array.dtype.char], _HOST)
    interface = array.__cuda_array_interface__ if on_device(array) else array.__array_interface__
    kind = interface["typestr"]
    if kind[0] == ">" or kind[1:] not in _TYPES:
        raise UnsupportedError(f"{what} has entries {kind}: expected integers or floats of 32 or 64 bits")
    if on_device(array) and interface.get("strides") is not None:
        raise UnsupportedError(f"{what} is strided on its device: make it contiguous")
    size = 1
    for extent in interface["shape"]:
        size *= extent
    return (interface["data"][0] or 0, size, _TYPES[kind[1:]], _CUDA if on_device(array) else _HOST)


def view(address: int, size: int) -> np.ndarray:
    """Entries of f64 at an address."""
    return np.frombuffer((ctypes.c_double * size).from_address(address))
