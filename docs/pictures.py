"""Draws wing.png: surface pressure on the wing of cases/wing.toml and the convergence of the run.

    pip install pyvista matplotlib numpy
    chromaflow run cases/wing.toml
    python docs/images/make_wing_picture.py out/wing docs/images/wing.png
"""

import csv
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import matplotlib.tri as tri
import numpy as np
import pyvista

folder, out = sys.argv[1:3]
surface = pyvista.read(f"{folder}/surface.vtu")
wing = surface.extract_cells(np.flatnonzero(surface["marker"] == np.bincount(surface["marker"]).argmax()))
mesh = wing.extract_surface(algorithm=None).triangulate().compute_normals(
    cell_normals=True, point_normals=False, consistent_normals=False, auto_orient_normals=False
)
faces = mesh.faces.reshape(-1, 4)[:, 1:]
upper = mesh.cell_data["Normals"][:, 2] < 0.0  # normals point out of the flow, into the wing
x, y, _ = mesh.points.T

plt.rcParams.update({"font.size": 9, "font.family": "DejaVu Sans"})
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), width_ratios=(1.15, 1), layout="constrained")
colors = left.tripcolor(tri.Triangulation(x, y, faces[upper]), mesh["cp"], shading="gouraud", cmap="RdYlBu", vmin=-1.1, vmax=1.1)
left.tricontour(tri.Triangulation(x, y, faces[upper]), mesh["cp"], levels=np.arange(-1.2, 0.9, 0.1), colors="k", linewidths=0.35)
left.set_aspect("equal")
left.set(xlabel="x", ylabel="y", title="Upper side, pressure coefficient")
figure.colorbar(colors, ax=left, shrink=0.85)

with open(f"{folder}/history.csv") as file:
    rows = list(csv.DictReader(file))
iteration = [int(r["iteration"]) for r in rows]
for name, color in [("density", "#0072b2"), ("energy", "#009e73")]:
    right.semilogy(iteration, [float(r[f"residual_{name}"]) for r in rows], color=color, label=f"{name} residual")
right.set(xlabel="iteration", ylabel="residual (rms)", title="Convergence from free stream")
right.grid(alpha=0.3)
right.legend(frameon=False, loc="lower left")
lift = right.twinx()
lift.plot(iteration, [float(r["cl"]) for r in rows], color="#d55e00", label="CL")
lift.set_ylabel("CL", color="#d55e00")
lift.set_ylim(0.0, 0.4)
figure.savefig(out, dpi=110)
