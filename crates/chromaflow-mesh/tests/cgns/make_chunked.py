"""Files of this folder whose arrays lie in chunks: others of it with their arrays stored anew by h5py in each way that HDF5 has. `cgnscheck` reads
`packed` and `parts` (its own compression fails in version 3.4).

    pip install h5py
    xz -dk sections_hdf5.cgns.xz structured_hdf5.cgns.xz
    python make_chunked.py FOLDER
"""

import sys
from pathlib import Path

import h5py
import numpy as np

PACKED = {"compression": "gzip", "compression_opts": 6, "shuffle": True}


def copied(source, target, options):
    """Copies groups, attributes and arrays; those of CGNS's nodes (not the strings of the root) by `options` of their shape."""
    target.attrs.update(source.attrs)
    for name, item in source.items():
        link = source.get(name, getlink=True)
        if isinstance(link, (h5py.SoftLink, h5py.ExternalLink)):
            target[name] = link
        elif isinstance(item, h5py.Group):
            copied(item, target.create_group(name, track_order=True), options)
        else:
            more = options(item.shape) if name == " data" and item.size > 3 else {}
            target.create_dataset(name, data=item[()], **more)


def attributes(source, target):
    """Attributes with the types that CGNS wants, strings of fixed length."""
    for name in source.attrs:
        kind = source.attrs.get_id(name)
        value = np.empty(kind.shape, kind.dtype)
        kind.read(value)
        target.attrs.create(name, value, dtype=kind.dtype)
    for name, item in source.items():
        if isinstance(item, h5py.Group):
            attributes(item, target[name])


def stored(source, path, options, libver="earliest"):
    with h5py.File(source) as old, h5py.File(path, "w", libver=libver, track_order=True) as new:
        copied(old, new, options)
        attributes(old, new)


def parts(shape):
    return tuple(max(1, n // 2) for n in shape)


def main(folder):
    ways = {
        "parts": lambda shape: {"chunks": parts(shape)},
        "packed": lambda shape: {"chunks": parts(shape), "fletcher32": True, **PACKED},
        "lzf": lambda shape: {"chunks": parts(shape), "compression": "lzf"},
    }
    newer = {
        "single": lambda shape: {"chunks": shape, **PACKED},
        "implicit": lambda shape: {"chunks": parts(shape)},
        "fixed": lambda shape: {"chunks": parts(shape), **PACKED},
        "ones": lambda shape: {"chunks": (1,) * len(shape)},
        "growing": lambda shape: {"chunks": parts(shape), "maxshape": (None, *shape[1:]), **PACKED},
        "growing_two": lambda shape: {"chunks": parts(shape), "maxshape": (None,) * len(shape), **PACKED},
    }
    for name in ("sections", "structured"):
        source = folder / f"{name}_hdf5.cgns"
        for way, options in ways.items():
            stored(source, folder / f"{name}_{way}.cgns", options)
        for way, options in newer.items():
            stored(source, folder / f"{name}_v110_{way}.cgns", options, ("v110", "v110"))
        stored(source, folder / f"{name}_latest.cgns", newer["fixed"], "latest")


main(Path(sys.argv[1]))
