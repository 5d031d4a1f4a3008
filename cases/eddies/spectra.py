"""What comes out of the boxes of `boxes.py`, beside what was measured or computed by others. Needs NumPy.

    python spectra.py isotropic 98 RESTART.safetensors     # E(k) beside that of Comte-Bellot and Corrsin at t U / M = 98 (or 171)
    python spectra.py taylor-green volume_means.csv        # energy, its rate, twice nu times the enstrophy
"""

import csv
import json
import struct
import sys

import numpy as np
from boxes import MACH, SPEED, UNIT, spectrum, target


def load(path):
    """Arrays of a restart by name."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    of = {}
    for name, entry in header.items():
        if name != "__metadata__":
            low, high = entry["data_offsets"]
            of[name] = np.frombuffer(data[low:high], "<f8").reshape(entry["shape"])
    return of


def velocity_of(path):
    """Velocities over those of the free stream, [3, n, n, n]; nodes in any order, images left out."""
    state = load(path)
    n = round(len(state["coordinates"]) ** (1 / 3)) - 1
    place = np.rint(state["coordinates"] * n / (2 * np.pi)).astype(int)
    own = (place < n).all(1)
    q = state["conserved"][own]
    out = np.empty((3, n, n, n))
    out[:, *place[own].T] = (q[:, 1:4] / q[:, :1]).T / MACH
    return out


def isotropic(time, path):
    column = {42: 1, 98: 2, 171: 3}[time]
    energy = spectrum(velocity_of(path))
    k = np.arange(1, len(energy) + 1)
    measured = target(k, column)
    print("k/cm  E/(cm^3/s^2)  measured  ratio")
    for row in zip(k / UNIT, energy * SPEED**2 * UNIT, measured * SPEED**2 * UNIT, energy / measured):
        print("{:.3f}  {:.4g}  {:.4g}  {:.3f}".format(*row))
    half = slice(1, len(energy) // 2)
    print(f"energy of k = 2 to {len(energy) // 2}: {energy[half].sum() / measured[half].sum():.3f} of the measured one")


def taylor_green(path):
    with open(path) as file:
        rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    time = np.array([row["time"] for row in rows]) * MACH
    energy = np.array([row["kinetic_energy"] for row in rows]) / MACH**2
    enstrophy = np.array([row["enstrophy"] for row in rows]) / MACH**2
    rate = -np.gradient(energy, time)
    viscous = 2 * enstrophy / 1600
    print("t  energy  rate  2 nu enstrophy")
    for t in range(1, int(time[-1]) + 1):
        at = np.argmin(abs(time - t))
        print(f"{time[at]:.2f}  {energy[at]:.5f}  {rate[at]:.5f}  {viscous[at]:.5f}")
    for name, values in (("rate", rate), ("2 nu enstrophy", viscous)):
        at = np.argmax(values[2:]) + 2
        print(f"peak of {name}: {values[at]:.5f} at {time[at]:.2f}")


if __name__ == "__main__":
    if sys.argv[1] == "isotropic":
        isotropic(int(sys.argv[2]), sys.argv[3])
    else:
        taylor_green(sys.argv[2])
