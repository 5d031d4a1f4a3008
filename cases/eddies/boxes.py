"""Eddies in a periodic box, 2 pi wide, of N x N x N hexahedra: mesh, state at the beginning, case.

    python boxes.py taylor-green 64 FOLDER
    python boxes.py isotropic 64 FOLDER [--model sa-neg|sst]
    chromaflow run FOLDER/case.toml --restart FOLDER/start.safetensors --anew

taylor-green: the vortex of Taylor and Green (1937) at Re 1600, Mach 0.1, as of DeBonis (NASA/TM-2013-217850); times are in 1 / a.
isotropic: the decaying turbulence of Comte-Bellot and Corrsin (J. Fluid Mech. 48, 1971, table 3) behind a grid of 5.08 cm at 10 m/s,
from t U / M = 42 on; the mesh unit is 9 cm. `spectra.py` compares what comes out. Needs NumPy.
"""

import argparse
import json
import pathlib
import struct

import numpy as np

GAMMA = 1.4
# Of the free stream, which nothing in a box sees but the Reynolds number and the scales.
MACH = 0.1

# k, 1/cm; E(k) at t U / M = 42, 98 and 171, cm^3/s^2.
COMTE_BELLOT = np.array(
    [
        [0.20, 129, 106, 92],
        [0.25, 230, 196, 120],
        [0.30, 322, 195, 125],
        [0.40, 435, 202, 98],
        [0.50, 457, 168, 81.5],
        [0.70, 380, 127, 60.2],
        [1.00, 270, 79.2, 39.4],
        [1.50, 168, 47.8, 24.1],
        [2.00, 120, 34.6, 16.5],
        [2.50, 89, 28.6, 12.5],
        [3.00, 70.3, 23.1, 9.12],
        [4.00, 47, 14.3, 5.62],
        [6.00, 24.7, 5.95, 1.69],
        [8.00, 12.6, 2.23, 0.52],
        [10.0, 7.42, 0.9, 0.161],
        [12.5, 3.96, 0.363, 0.052],
        [15.0, 2.33, 0.162, 0.0141],
    ]
)
UNIT = 9.0  # cm
SPEED = np.sqrt(1.5) * 22.2  # cm/s, of the free stream: the speed of the eddies at the beginning
NU = 10e2 * 5.08 / 34000.0  # cm^2/s
TIMES = [0.0, (98 - 42) * 5.08 / 1000.0, (171 - 42) * 5.08 / 1000.0]  # s


def unit_of_time():
    """Seconds of the time unit, mesh unit over speed of sound."""
    return UNIT * MACH / SPEED


def wavenumbers(n):
    k = np.fft.fftfreq(n, 1.0 / n)
    return np.meshgrid(k, k, k, indexing="ij")


def taylor_green(n):
    x = 2 * np.pi * np.arange(n) / n
    x, y, z = np.meshgrid(x, x, x, indexing="ij")
    u = np.sin(x) * np.cos(y) * np.cos(z)
    v = -np.cos(x) * np.sin(y) * np.cos(z)
    pressure = (np.cos(2 * x) + np.cos(2 * y)) * (np.cos(2 * z) + 2) / 16
    return np.stack([u, v, 0 * u]), pressure


def spectrum(velocity):
    """E(k) of shells of width 1, k = 1, 2, ...; velocity [3, n, n, n]."""
    n = velocity.shape[1]
    energy = sum(np.abs(np.fft.fftn(u) / n**3) ** 2 for u in velocity) / 2
    shell = np.rint(np.sqrt(sum(k * k for k in wavenumbers(n)))).astype(int)
    return np.bincount(shell.ravel(), energy.ravel())[1 : n // 2]


def target(k, column):
    """E of the experiment over SPEED^2 UNIT at wavenumbers of the box."""
    of = COMTE_BELLOT[:, column] / (SPEED**2 * UNIT)
    return np.exp(np.interp(np.log(k), np.log(COMTE_BELLOT[:, 0] * UNIT), np.log(of)))


def isotropic(n):
    """Fourier modes of random directions and phases with the spectrum of the experiment, free of divergence; pressure by Poisson."""
    random = np.random.default_rng(1971)
    k = np.array(wavenumbers(n))
    square = np.maximum((k * k).sum(0), 1)
    modes = np.fft.fftn(random.standard_normal((3, n, n, n)), axes=(1, 2, 3))
    modes -= k * (k * modes).sum(0) / square
    # No mode beyond what the grid has in all directions, nor those that have no partner of the other sign.
    modes[:, np.sqrt(square) >= n // 2] = 0
    modes[:, (k == -(n // 2)).any(0)] = 0
    velocity = np.fft.ifftn(modes, axes=(1, 2, 3)).real
    shells = np.arange(1, n // 2)
    factor = np.ones(2 * n)
    factor[1 : n // 2] = np.sqrt(target(shells, 1) / np.maximum(spectrum(velocity), 1e-300))
    modes *= factor[np.rint(np.sqrt(square)).astype(int)]
    velocity = np.fft.ifftn(modes, axes=(1, 2, 3)).real
    gradient = gradients(velocity)
    source = -np.einsum("abijk,baijk->ijk", gradient, gradient)
    pressure = np.fft.ifftn(-np.fft.fftn(source) / square).real
    return velocity, pressure - pressure.mean()


def gradients(velocity):
    """du_a / dx_b, [3, 3, n, n, n]."""
    k = wavenumbers(velocity.shape[1])
    return np.stack([np.stack([np.fft.ifftn(1j * kb * np.fft.fftn(u)).real for kb in k]) for u in velocity])


def with_images(field):
    """Values at all nodes of the box, those of the far sides too, x fastest: [nodes, components]."""
    for axis in (1, 2, 3):
        field = np.concatenate([field, field.take([0], axis)], axis)
    return field.transpose(3, 2, 1, 0).reshape(-1, field.shape[0])


def write_mesh(folder, n):
    x = 2 * np.pi * np.arange(n + 1) / n
    z, y, x = np.meshgrid(x, x, x, indexing="ij")
    nodes = np.stack([x, y, z], -1).reshape(-1, 3)
    number = np.arange((n + 1) ** 3).reshape(n + 1, n + 1, n + 1) + 1
    low, high = slice(None, -1), slice(1, None)

    def face(a, b, c):
        return number[c, b, a]

    cell = np.stack(
        [face(i, j, k) for k in (low, high) for i, j in ((low, low), (high, low), (high, high), (low, high))], -1
    ).reshape(-1, 8)
    sides = []
    for axis in range(3):
        for end in (0, n):
            index = [low, low, low]
            corners = []
            for da, db in ((0, 0), (1, 0), (1, 1), (0, 1)):
                at = [low, low, low]
                at[axis] = end
                at[(axis + 1) % 3] = high if da else low
                at[(axis + 2) % 3] = high if db else low
                corners.append(face(*at).ravel())
            quads = np.stack(corners, -1)
            # Out of the box: the order above turns about the axis.
            sides.append(quads if end else quads[:, ::-1])
    faces = np.concatenate(sides)
    tags = np.repeat(np.arange(1, 7), n * n)
    with open(folder / "box.b8.ugrid", "wb") as out:
        out.write(struct.pack(">7i", len(nodes), 0, len(faces), 0, 0, 0, len(cell)))
        for array, kind in ((nodes, ">f8"), (faces, ">i4"), (tags, ">i4"), (cell, ">i4")):
            out.write(np.ascontiguousarray(array, kind).tobytes())
    names = ["xmin", "xmax", "ymin", "ymax", "zmin", "zmax"]
    rows = "".join(f"{i + 1} 6100 {name}\n" for i, name in enumerate(names))
    (folder / "box.mapbc").write_text(f"6\n{rows}")
    return nodes


def write_start(folder, nodes, fields):
    """A restart of format chromaflow-restart-1; see docs/src/formats.md."""
    header = {"__metadata__": {"format": "chromaflow-restart-1"}}
    arrays = {"coordinates": nodes, **fields}
    offset = 0
    for name, array in arrays.items():
        end = offset + 8 * array.size
        header[name] = {"dtype": "F64", "shape": list(array.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(folder / "start.safetensors", "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for array in arrays.values():
            out.write(np.ascontiguousarray(array, "<f8").tobytes())


def conserved(velocity, pressure):
    """Of velocities and pressures over those of the free stream: rho 1, a 1, constant temperature."""
    velocity = MACH * velocity
    pressure = 1 / GAMMA + MACH**2 * pressure
    density = GAMMA * pressure
    energy = pressure / (GAMMA - 1) + density * (velocity**2).sum(0) / 2
    return np.concatenate([density[None], density * velocity, energy[None]])


def turbulence(model, n, velocity, nu):
    """What the model has of its grid where production and destruction are equal; nu over a and the mesh unit."""
    gradient = MACH * gradients(velocity)
    strain = (gradient + gradient.transpose(1, 0, 2, 3, 4)) / 2
    size = np.sqrt(2 * (strain**2).sum((0, 1)))
    delta = 2 * np.pi / n
    if model == "sst":
        length = 0.61 * delta
        return {"k": 0.09 * (length * size) ** 2, "omega": size / 0.3}
    length = 0.65 * delta
    cw1 = 0.1355 / 0.41**2 + (1 + 0.622) / (2 / 3)
    return {"nut": 0.1355 / cw1 * length**2 * size / nu}


CASE = """[case]
title = "{title}, {n} x {n} x {n}"

[mesh]
file = "box.b8.ugrid"

[flow]
equations = "{equations}"
mach = {mach}
reynolds = {reynolds}
viscosity = "constant"

[numerics]
limiter = "none"
kappa = {kappa}
dissipation = {dissipation}
{turbulence}
[march]
mode = "unsteady"
dt = {dt}
steps = {steps}

[output]
surface = false
volume_means = ["kinetic_energy", "enstrophy", "density"]
restart_every = 0
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("flow", choices=["taylor-green", "isotropic"])
    parser.add_argument("n", type=int)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--model", default="sa-neg", choices=["sa-neg", "sst"])
    parser.add_argument("--hybrid", help="ddes of sa-neg, des of sst")
    parser.add_argument("--dissipation", type=float, default=0.1)
    parser.add_argument("--kappa", type=float, default=0.5)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    nodes = write_mesh(args.folder, args.n)
    fields, section = {}, ""
    if args.flow == "taylor-green":
        velocity, pressure = taylor_green(args.n)
        reynolds, equations, title = 1600.0, "laminar", "Vortex of Taylor and Green"
        # A Courant number of the flow of about a half.
        dt = np.pi / args.n / MACH
        steps = round(20.0 / MACH / dt)
    else:
        velocity, pressure = isotropic(args.n)
        reynolds, equations, title = SPEED * UNIT / NU, "rans", "Decaying isotropic turbulence"
        fields = turbulence(args.model, args.n, velocity, MACH / reynolds)
        fields = {name: with_images(field[None]) for name, field in fields.items()}
        # At this Reynolds number only ddes has the correction that leaves Spalart-Allmaras an eddy viscosity.
        hybrid = args.hybrid or ("des" if args.model == "sst" else "ddes")
        section = f'\n[turbulence]\nmodel = "{args.model}"\nhybrid = "{hybrid}"\n'
        # t U / M = 98 after 56 parts of 129.
        steps = 129 * args.n // 32
        dt = TIMES[2] / unit_of_time() / steps
    fields["conserved"] = with_images(conserved(velocity, pressure))
    write_start(args.folder, nodes, fields)
    case = CASE.format(
        title=title, n=args.n, equations=equations, mach=MACH, reynolds=reynolds, turbulence=section, dt=dt, steps=steps,
        kappa=args.kappa, dissipation=args.dissipation,
    )
    (args.folder / "case.toml").write_text(case)


if __name__ == "__main__":
    main()
