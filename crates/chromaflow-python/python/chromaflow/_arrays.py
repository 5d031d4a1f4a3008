"""Arrays of the host and of devices, as the library takes them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
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


# DLPack: kinds of devices, and kinds of entries by (code, bits).
_DL_HOSTS, _DL_CUDA = (1, 3), (2, 13)
_DL_TYPES = {(0, 32): 1, (0, 64): 2, (1, 32): 3, (1, 64): 4, (2, 32): 5, (2, 64): 6}


def on_device(array: Any) -> bool:
    """Whether it lies on a CUDA device."""
    if type(array) is np.ndarray:
        return False
    if hasattr(array, "__cuda_array_interface__"):
        return True
    return hasattr(array, "__dlpack_device__") and array.__dlpack_device__()[0] in _DL_CUDA


def host(array: Any) -> np.ndarray:
    """Index arrays on the host, wherever they came from."""
    return np.ascontiguousarray(array.get() if hasattr(array, "get") else array)


def values(array: Any, what: str) -> Any:
    """f64 or f32, contiguous by rows: a view where it is so already."""
    if type(array) is np.ndarray and array.dtype.char in _FLOATS and array.dtype.isnative and array.flags.c_contiguous:
        return array
    if on_device(array):
        return array
    of_others = not isinstance(array, np.ndarray) and hasattr(array, "__dlpack__")
    if of_others and array.__dlpack_device__()[0] in _DL_HOSTS:
        array = np.from_dlpack(array)
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


class _DLTensor(ctypes.Structure):
    """The tensor of DLPack's capsules, as its header has it."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


def _of_capsule(capsule: Any, what: str) -> Raw:
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _DLTensor.from_address(pointer(capsule, b"dltensor"))
    kind = _DL_TYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if kind is None:
        raise UnsupportedError(f"{what} has entries of {tensor.bits} bits: expected integers or floats of 32 or 64 bits")
    size = 1
    for axis in reversed(range(tensor.ndim)):
        if tensor.strides and tensor.shape[axis] > 1 and tensor.strides[axis] != size:
            raise UnsupportedError(f"{what} is strided on its device: make it contiguous")
        size *= tensor.shape[axis]
    return ((tensor.data or 0) + tensor.byte_offset, size, kind, _CUDA)


@contextmanager
def lent(array: Any, what: str, stream: int) -> Iterator[Raw]:
    """The same for a call, where the array may be one that only DLPack reaches: its work on other streams comes before that of
    ``stream``, or of the default stream where that is 0."""
    if type(array) is np.ndarray or hasattr(array, "__cuda_array_interface__") or not hasattr(array, "__dlpack__"):
        yield raw(array, what)
        return
    capsule = array.__dlpack__(stream=stream or 1)  # it frees what it holds when it goes
    yield _of_capsule(capsule, what)
    del capsule


def view(address: int, size: int) -> np.ndarray:
    """Entries of f64 at an address."""
    return np.frombuffer((ctypes.c_double * size).from_address(address))
