"""The flow solver: cases, runs, and what they give, by the command ``chromaflow``.

A run is a process of its own, so that Ctrl-C, memory and threads are those of that process: a notebook lives on whatever becomes of it.
"""

from __future__ import annotations

import csv
import json
import math
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

_POLL = 0.1  # seconds between looks at a run under way
_PATHS = {"mesh": ("file", "mapbc"), "grid": ("file", "nmf")}


class CaseError(ValueError):
    """A case that the solver refuses, in its words: it names the key, what was expected and the remedy."""


def program() -> str:
    """The command: ``CHROMAFLOW_PROGRAM``, else ``chromaflow`` on the path."""
    found = os.environ.get("CHROMAFLOW_PROGRAM") or shutil.which("chromaflow")
    if not found:
        raise CaseError(
            "the command `chromaflow` is not on the path: install it (cargo install chromaflow-cli), or name it in "
            "CHROMAFLOW_PROGRAM"
        )
    return found


def _key(name: Any) -> str:
    """A key as TOML has it: markers of meshes may be called anything."""
    name = str(name)
    return name if name.isascii() and name.replace("-", "_").isidentifier() else json.dumps(name)


def _toml(value: Any) -> str:
    """A value as TOML has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, os.PathLike)):
        return json.dumps(os.fspath(value), ensure_ascii=False)
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value)) if math.isfinite(value) else {math.inf: "inf", -math.inf: "-inf"}.get(value, "nan")
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, (list, tuple, np.ndarray)):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    raise CaseError(f"{value!r} is nothing that a case file holds: expected texts, numbers, truths, lists, dicts")


class Case:
    """A flow case: the sections of a case file as a dict, or the path of one.

    >>> case = Case({"mesh": {"file": "wing.su2"}, "flow": {"mach": 0.84, "alpha": 3.06}, "boundary": {"wing": "slip_wall"}})
    >>> case["flow.mach"] = 0.8
    >>> case["flow.mach"]
    0.8

    Keys and values are those of the case file reference; ``chromaflow run --print-defaults`` lists them. Files that a dict names
    are relative to the working directory, those of a case file to it.
    """

    def __init__(self, source: Mapping[str, Any] | str | os.PathLike[str]) -> None:
        self._sets: dict[str, Any] = {}
        if isinstance(source, Mapping):
            self._path = None
            self._sections = {name: dict(keys) for name, keys in source.items()}
        else:
            self._path = Path(source)
            self._sections = {}
            if not self._path.is_file():
                raise CaseError(f"there is no case file {self._path}")

    def __getitem__(self, key: str) -> Any:
        """What the case says of a key: ``case["flow.mach"]``. Keys that it leaves at their defaults are no keys of it."""
        section, _, name = key.partition(".")
        if key in self._sets:
            return self._sets[key]
        sections = self._sections if self._path is None else self._of_file()
        try:
            return sections[section][name]
        except (KeyError, TypeError):
            raise KeyError(key) from None

    def _of_file(self) -> dict[str, Any]:
        if sys.version_info < (3, 11):
            raise CaseError(f"to look at keys of {self._path} takes Python 3.11, which reads TOML")
        import tomllib

        try:
            return tomllib.loads(self._path.read_text(encoding="utf-8-sig"))
        except (OSError, ValueError) as error:
            raise CaseError(f"{self._path}: {error}") from None

    def __setitem__(self, key: str, value: Any) -> None:
        """Changes a key: ``case["linear.policy"] = "dsh"``."""
        if "." not in key:
            raise CaseError(f"`{key}`: expected section.key, such as flow.mach")
        section, _, name = key.partition(".")
        if self._path is None:
            self._sections.setdefault(section, {})[name] = value
        else:
            self._sets[key] = value

    def text(self) -> str:
        """The case file of a dict."""
        lines = []
        for section, keys in self._sections.items():
            lines.append(f"[{_key(section)}]")
            for key, value in keys.items():
                if key in _PATHS.get(section, ()) and value:
                    value = self._found(Path(value))
                lines.append(f"{_key(key)} = {_toml(value)}")
        return "\n".join(lines) + "\n"

    @staticmethod
    def _found(path: Path) -> Path:
        # One that is not here is left to CHROMAFLOW_DATA, which the program searches by the relative name.
        return path.absolute() if path.exists() else path

    def run(
        self,
        out: str | os.PathLike[str] | None = None,
        *,
        threads: int | None = None,
        backend: str = "cpu",
        restart: str | os.PathLike[str] | Result | None = None,
        anew: bool = False,
        resume: bool = False,
        callback: Callable[[dict[str, float]], object] | None = None,
    ) -> Result:
        """Runs the case and returns what it gave.

        ``out``: the folder for its files; a temporary one, which lives as long as the result, unless given. ``restart``: a
        restart file or an earlier result to go on from (``anew``: from its state alone, iterations count from one); ``resume``:
        from that of the folder, whose iterations the history goes on with. ``callback(row)`` gets every iteration, the columns of the history by name, a few times a second
        in order; False ends the run, with all its files written. So does Ctrl-C, which then raises ``KeyboardInterrupt``.
        """
        temporary = None
        if out is None:
            temporary = tempfile.TemporaryDirectory(prefix="chromaflow-")
            out = temporary.name
        folder = Path(out)
        folder.mkdir(parents=True, exist_ok=True)
        path = self._path
        if path is None:
            path = folder / "case.toml"
            path.write_text(self.text(), encoding="utf-8")
        words = [program(), "--quiet", "--backend", backend]
        if threads is not None:
            words += ["--threads", str(threads)]
        words += ["run", str(path), "--out", str(folder)]
        for key, value in self._sets.items():
            words += ["--set", f"{key}={_toml(value)}"]
        if resume:
            words.append("--resume")
        if restart is not None:
            if isinstance(restart, Result):
                restart = restart.folder / "restart.safetensors"
            words += ["--restart", os.fspath(restart)] + (["--anew"] if anew else [])
        status, said = _follow(words, folder, callback)
        if status not in (0, 1):
            kind: type[Exception] = CaseError if status == 2 else RuntimeError
            raise kind(said.strip().removeprefix("error: ") or f"chromaflow ended with status {status}")
        return Result(folder, temporary)


def _follow(words: list[str], folder: Path, callback: Callable[[dict[str, float]], object] | None) -> tuple[int, str]:
    """Runs a command and tells about its iterations; its status and what it says of errors."""
    # A group of its own: Ctrl-C comes to us, who pass it on.
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(words, stderr=errors, stdout=subprocess.DEVNULL, start_new_session=True)
        told = 0
        try:
            while process.poll() is None:
                time.sleep(_POLL)
                if callback is not None:
                    told, more = _tell(folder / "live.csv", told, callback)
                    if not more:
                        (folder / "control.toml").write_text("stop = true\n")
                        callback = None
            if callback is not None:
                _tell(folder / "history.csv", told, callback)
        except BaseException:
            process.send_signal(signal.SIGTERM)  # ends after the iteration, with its files written
            try:
                process.wait()
            except KeyboardInterrupt:
                process.kill()
                process.wait()
            raise
        errors.seek(0)
        return process.returncode, errors.read()


def _tell(path: Path, told: int, callback: Callable[[dict[str, float]], object]) -> tuple[int, bool]:
    """Tells about the rows of a history after the first ``told``; how many it has now, and whether to go on."""
    try:
        lines = path.read_text().split("\n")[:-1]  # the last line may be half written
    except FileNotFoundError:
        return told, True
    rows = list(csv.DictReader(lines))
    for row in rows[told:]:
        told += 1
        values = {name: float(value) for name, value in row.items() if name is not None and value}
        if callback(values) is False:
            return told, False
    return told, True


class Result:
    """What a run gave; its files are in ``folder``."""

    def __init__(self, folder: str | os.PathLike[str], temporary: Any = None) -> None:
        self.folder = Path(folder)
        self._temporary = temporary

    @cached_property
    def summary(self) -> dict[str, Any]:
        """All that the run says of itself, as ``summary.json`` has it."""
        return json.loads((self.folder / "summary.json").read_text(encoding="utf-8"))

    @property
    def outcome(self) -> str:
        """converged, iteration_limit, stagnated, diverged or breakdown"""
        return self.summary["outcome"]

    @property
    def converged(self) -> bool:
        """Whether the residual has fallen as far as the case asks."""
        return self.outcome == "converged"

    @property
    def forces(self) -> dict[str, Any]:
        """Coefficients: ``cl``, ``cd``, ``cm``, and by wall in ``markers``."""
        return self.summary["forces"]

    @cached_property
    def history(self) -> dict[str, np.ndarray]:
        """The columns of the history by name, a value an iteration."""
        with (self.folder / "history.csv").open() as file:
            names, *rows = csv.reader(file)
        columns = zip(*rows, strict=True) if rows else ([] for _ in names)
        return {n: np.array([float(v or "nan") for v in column]) for n, column in zip(names, columns, strict=True)}

    @cached_property
    def fields(self) -> dict[str, np.ndarray]:
        """Density, velocity, pressure, Cp and the rest at the nodes, f32, with ``points`` in f64, in the order of the mesh."""
        return read_vtu(self.folder / "volume.vtu")

    @cached_property
    def surface(self) -> dict[str, np.ndarray]:
        """The same on the boundary."""
        return read_vtu(self.folder / "surface.vtu")

    @cached_property
    def state(self) -> dict[str, np.ndarray]:
        """What a restart holds, in f64: the conserved variables and those of systems beside the flow, with ``coordinates``."""
        return read_restart(self.folder / "restart.safetensors")

    def plot(self) -> Any:
        """Convergence as a matplotlib figure, which notebooks show."""
        from matplotlib import pyplot

        figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4))
        iteration = self.history["iteration"]
        for name, column in self.history.items():
            if name.startswith("residual_"):
                left.semilogy(iteration, column, label=name.removeprefix("residual_"))
        for name in ("cl", "cd"):
            right.plot(iteration, self.history[name], label=name)
        for axes in (left, right):
            axes.set_xlabel("iteration")
            axes.legend()
        return figure

    def __repr__(self) -> str:
        forces = ", ".join(f"{name} {self.forces[name]:.5g}" for name in ("cl", "cd") if name in self.forces)
        return f"<Result: {self.outcome} after {self.summary['iterations']} iterations, {forces}>"


_KINDS = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "U32": "<u4"}


def read_restart(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The arrays of a restart (safetensors)."""
    data = Path(path).read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    arrays = {}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        if name != "__metadata__":
            start, end = (8 + length + offset for offset in entry["data_offsets"])
            arrays[name] = np.frombuffer(data[start:end], _KINDS[entry["dtype"]]).reshape(entry["shape"])
    return arrays


_VTK = {"Float32": "<f4", "Float64": "<f8", "Int64": "<i8", "Int32": "<i4", "UInt8": "u1"}


def read_vtu(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """Points, fields at points and cells of a ``.vtu`` file as chromaflow writes them: arrays appended, plain or by zlib."""
    data = Path(path).read_bytes()
    mark = data.index(b"<AppendedData")
    start = data.index(b"_", mark) + 1
    root = ElementTree.fromstring(data[:mark] + b"</VTKFile>")
    packed = root.get("compressor") is not None
    arrays = {}
    for entry in root.iter("DataArray"):
        at = start + int(entry.get("offset", "0"))
        if packed:
            blocks, _, _ = struct.unpack_from("<3Q", data, at)
            sizes = struct.unpack_from(f"<{blocks}Q", data, at + 24)
            at += 24 + 8 * blocks
            parts = []
            for size in sizes:
                parts.append(zlib.decompress(data[at : at + size]))
                at += size
            content = b"".join(parts)
        else:
            (size,) = struct.unpack_from("<Q", data, at)
            content = data[at + 8 : at + 8 + size]
        array = np.frombuffer(content, _VTK[entry.get("type", "")])
        width = int(entry.get("NumberOfComponents", "1"))
        arrays[entry.get("Name", "").replace("Points", "points")] = array.reshape(-1, width) if width > 1 else array
    return arrays
