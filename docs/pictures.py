"""Draws pictures of the documentation from what runs have left: `cargo xtask pictures` runs the commands and this.

    pip install matplotlib numpy pyvista
    python docs/pictures.py wing|policies|plate FOLDER PICTURE
"""

import csv
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

BLUE, ORANGE, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#888888"


def columns(file):
    """The columns of a CSV file by their names."""
    with open(file) as lines:
        rows = list(csv.DictReader(lines))
    return {name: np.array([float(row[name] or "nan") for row in rows]) for name in rows[0]}


def wing(folder, out):
    """Pressure on the upper side of the wing, and the convergence of its run."""
    import matplotlib.tri as tri
    import pyvista

    surface = pyvista.read(folder / "surface.vtu")
    walls = surface.extract_cells(np.flatnonzero(surface["marker"] == np.bincount(surface["marker"]).argmax()))
    mesh = walls.extract_surface(algorithm=None).triangulate().compute_normals(
        cell_normals=True, point_normals=False, consistent_normals=False, auto_orient_normals=False
    )
    faces = mesh.faces.reshape(-1, 4)[:, 1:]
    upper = mesh.cell_data["Normals"][:, 2] < 0.0  # normals point out of the flow, into the wing
    x, y, _ = mesh.points.T
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), width_ratios=(1.15, 1), layout="constrained")
    triangles = tri.Triangulation(x, y, faces[upper])
    colors = left.tripcolor(triangles, mesh["cp"], shading="gouraud", cmap="RdYlBu", vmin=-1.1, vmax=1.1)
    left.tricontour(triangles, mesh["cp"], levels=np.arange(-1.2, 0.9, 0.1), colors="k", linewidths=0.35)
    left.set_aspect("equal")
    left.set(xlabel="x", ylabel="y", title="Upper side, pressure coefficient")
    figure.colorbar(colors, ax=left, shrink=0.85)

    history = columns(folder / "history.csv")
    for name, color in [("density", BLUE), ("energy", GREEN)]:
        right.semilogy(history["iteration"], history[f"residual_{name}"], color=color, label=f"{name} residual")
    right.set(xlabel="iteration", ylabel="residual (rms)", title="Convergence from free stream")
    right.grid(alpha=0.3)
    right.legend(frameon=False, loc="lower left")
    lift = right.twinx()
    lift.plot(history["iteration"], history["cl"], color=ORANGE, label="CL")
    lift.set_ylabel("CL", color=ORANGE)
    lift.set_ylim(0.0, 0.4)
    figure.savefig(out, dpi=110)


def policies(folder, out):
    """One linear system and one run under the three precision policies."""
    styles = {"d": (GREY, "-", 4.0), "ds": (BLUE, "--", 1.6), "dsh": (ORANGE, ":", 1.8)}
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for policy, (color, style, width) in styles.items():
        line = {"color": color, "linestyle": style, "linewidth": width, "label": policy}
        sweeps = columns(folder / f"{policy}.csv")
        left.semilogy(sweeps["iteration"], sweeps["relative_residual"], **line)
        history = columns(folder / policy / "history.csv")
        residual = history["residual_density"]
        right.semilogy(history["iteration"], residual / residual[0], **line)
    corrected = columns(folder / "dsh-corrected.csv")
    left.semilogy(30 * corrected["iteration"], corrected["relative_residual"], "o", color=GREEN, label="dsh, corrected every 30")
    left.set(xlabel="sweeps", ylabel="||b - A x|| / ||b||", title="A linear system")
    right.set(xlabel="iteration", ylabel="density residual over the first", title="The whole run")
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, loc="lower left")
    figure.savefig(out, metadata={"Date": None})


def law_of_the_wall(y):
    """u+ of Spalart-Allmaras in a layer of constant stress: Allmaras, Johnson & Spalart, ICCFD7-1902 (2012), eq. 42."""
    a1, a2, b1, b2 = 8.148221580024245, -6.9287093849022945, 7.4600876082527945, 7.468145790401841
    c1, c2, c3, c4 = 2.5496773539754747, 1.3301651588535228, 3.599459109332379, 3.6397531868684494
    logs = c1 * np.log((y + a1) ** 2 + b1**2) - c2 * np.log((y + a2) ** 2 + b2**2)
    return 5.0333908790505579 + logs - c3 * np.arctan2(b1, y + a1) - c4 * np.arctan2(b2, y + a2)


def plate(folder, out):
    """u+ over y+ of a turbulent plate, and the model's own law."""
    profile = columns(folder / "profile_0.csv")
    inside = profile["y_plus"] > 0.1  # off the wall
    y, u = profile["y_plus"][inside], profile["u_plus"][inside]
    figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    at = np.geomspace(y[0], y[-1], 300)
    axes.semilogx(at, law_of_the_wall(at), color=ORANGE, label="exact law of the wall of SA")
    axes.semilogx(y, u, "o", color=BLUE, fillstyle="none", markersize=4, label="137 x 97, x = 0.97")
    axes.set(xlabel="y+", ylabel="u+", ylim=(0.0, 30.0))
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, loc="upper left")
    figure.savefig(out, metadata={"Date": None})
    part = (y > 1.0) & (y < 60.0)
    print(f"from the law by {100 * np.max(np.abs(u / law_of_the_wall(y) - 1)[part]):.3f} % at most from y+ 1 to 60")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    plt.rcParams.update({"font.size": 9, "font.family": "DejaVu Sans", "svg.hashsalt": "chromaflow"})
    pictures = {"wing": wing, "policies": policies, "plate": plate}
    pictures[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
