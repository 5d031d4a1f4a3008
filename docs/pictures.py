"""Draws pictures of the documentation from what runs have left: `cargo xtask pictures` runs the commands and this.

    pip install matplotlib numpy pyvista
    python docs/pictures.py wing|policies|policies_rans|plate|m6|airfoil|cylinder|channel|scaling FOLDER PICTURE
"""

import csv
import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

BLUE, ORANGE, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#888888"


def columns(file):
    """The columns of numbers of a CSV file by their names."""
    with open(file) as lines:
        rows = list(csv.DictReader(lines))
    names = [name for name in rows[0] if name != "marker"]
    return {name: np.array([float(row[name] or "nan") for row in rows]) for name in names}


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


def policies_rans(folder, out):
    """Whole turbulent runs under the three precision policies: residuals of the flow and of the model."""
    styles = {"d": (GREY, "-", 4.0), "ds": (BLUE, "--", 1.6), "dsh": (ORANGE, ":", 1.8)}
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
    runs = [(left, "airfoil", "nut", "NACA 0012, sa-neg"), (right, "bump", "omega", "bump, sst")]
    for axes, run, beside, title in runs:
        for policy, (color, style, width) in styles.items():
            history = columns(folder / run / policy / "history.csv")
            for name, thin in [("density", 1.0), (beside, 0.5)]:
                residual = history[f"residual_{name}"]
                line = {"color": color, "linestyle": style, "linewidth": thin * width, "label": f"{policy}, {name}"}
                axes.semilogy(history["iteration"], residual / residual.max(), **line)
        axes.set(xlabel="iteration", title=title)
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, fontsize="small")
    left.set_ylabel("residual over its largest")
    figure.savefig(out, metadata={"Date": None})


def law_of_the_wall(y):
    """u+ of Spalart-Allmaras in a layer of constant stress: Allmaras, Johnson & Spalart, ICCFD7-1902 (2012), eq. 42."""
    a1, a2, b1, b2 = 8.148221580024245, -6.9287093849022945, 7.4600876082527945, 7.468145790401841
    c1, c2, c3, c4 = 2.5496773539754747, 1.3301651588535228, 3.599459109332379, 3.6397531868684494
    logs = c1 * np.log((y + a1) ** 2 + b1**2) - c2 * np.log((y + a2) ** 2 + b2**2)
    return 5.0333908790505579 + logs - c3 * np.arctan2(b1, y + a1) - c4 * np.arctan2(b2, y + a2)


def spalding(u):
    """y+ over u+ by Spalding (1961), J. Appl. Mech. 28, 455, with kappa 0.41 and B 5."""
    k = 0.41 * u
    return u + np.exp(-0.41 * 5.0) * (np.exp(k) - 1.0 - k - k**2 / 2.0 - k**3 / 6.0)


def plate(folder, out):
    """u+ over y+ of a turbulent plate, the model's own law, and Spalding's."""
    profile = columns(folder / "profile_0.csv")
    inside = profile["y_plus"] > 0.1  # off the wall
    y, u = profile["y_plus"][inside], profile["u_plus"][inside]
    figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    at = np.geomspace(y[0], y[-1], 300)
    axes.semilogx(at, law_of_the_wall(at), color=ORANGE, label="exact law of the wall of SA")
    speeds = np.linspace(0.0, 40.0, 4000)
    heights = spalding(speeds)
    part = (heights >= at[0]) & (heights <= at[-1])
    axes.semilogx(heights[part], speeds[part], color=GREEN, linestyle="--", label="Spalding, kappa 0.41, B 5")
    axes.semilogx(y, u, "o", color=BLUE, fillstyle="none", markersize=4, label="137 x 97, x = 0.97")
    axes.set(xlabel="y+", ylabel="u+", ylim=(0.0, 30.0))
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, loc="upper left")
    figure.savefig(out, metadata={"Date": None})
    part = (y > 1.0) & (y < 60.0)
    print(f"from the law by {100 * np.max(np.abs(u / law_of_the_wall(y) - 1)[part]):.3f} % at most from y+ 1 to 60")
    off = u / np.interp(y, heights, speeds) - 1
    print(f"from Spalding's by {100 * off[part].min():.1f} to {100 * off[part].max():.1f} % there")


def sections(file, mark, names):
    """Zones of a Tecplot file: for each the number behind `mark` in its title, and its columns."""
    import lzma

    zones = []
    with lzma.open(file, "rt") as lines:
        for line in lines:
            if line.startswith("ZONE"):
                zones.append((line, []))
            elif zones and line.strip():
                zones[-1][1].append([float(word) for word in line.split()])
    return [(title, float(title.split(mark)[1].split('"')[0]), dict(zip(names, np.array(rows).T))) for title, rows in zones]


def m6(folder, out):
    """Cp along sections of the turbulent ONERA M6, beside case 2308 of its experiment and FUN3D on TMR's finest mesh."""
    import os

    reference = Path(os.environ["CHROMAFLOW_DATA"]) / "reference"
    measured = sections(reference / "onera_m6_exp_case2308.dat.xz", "Section", ["section", "tap", "x", "z", "cp"])
    other = sections(reference / "onera_m6_tmr_fun3d_A3p06_cp.dat.xz", "eta=", ["X", "Y", "Z", "cp", "x"])
    figure, panels = plt.subplots(2, 4, figsize=(10.5, 5.6), sharey=True, layout="constrained")
    span = 1.4760179762198
    for number, (share, axes) in enumerate(zip((0.20, 0.44, 0.65, 0.80, 0.90, 0.96, 0.99), panels.flat), 1):
        cut = min(folder.glob("cut_y_*.csv"), key=lambda file: abs(float(file.stem.split("_")[-1]) - share * span))
        curves = columns(cut)
        first, last = curves["x"].min(), curves["x"].max()
        for side in (1, -1):
            part = curves["side"] == side
            line = axes.plot((curves["x"][part] - first) / (last - first), curves["cp"][part], color=BLUE)[0]
        line.set_label("here, 116,565 nodes")
        for title, at, zone in other:
            if at == share and " L1 " in title:
                axes.plot(zone["x"][::2], zone["cp"][::2], ".", color=ORANGE, markersize=1.5, label="FUN3D, finest of its meshes")
        for _, at, zone in measured:
            if at == number:
                axes.plot(zone["x"], zone["cp"], "o", color="k", fillstyle="none", markersize=3.5, label="experiment, case 2308")
        axes.set_title(f"y/b = {share:.2f}", fontsize=10)
        axes.grid(alpha=0.3)
    panels[0, 0].invert_yaxis()
    for axes in panels[:, 0]:
        axes.set_ylabel("Cp")
    for axes in panels[1]:
        axes.set_xlabel("x/c")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    panels[1, 3].axis("off")
    panels[1, 3].legend(handles, labels, frameon=False, loc="center", markerscale=2)
    figure.savefig(out, metadata={"Date": None})


def plane(folder):
    """The triangles of a planar field and its values by name."""
    import matplotlib.tri as tri
    import pyvista

    field = pyvista.read(folder / "volume.vtu")
    flat = field.extract_cells(np.flatnonzero(np.isin(field.celltypes, (5, 9)))).extract_surface(algorithm=None).triangulate()
    x, y, _ = flat.points.T
    return tri.Triangulation(x, y, flat.faces.reshape(-1, 4)[:, 1:]), flat.point_data


def airfoil(folder, out):
    """Mach numbers around an airfoil, and Cp along it."""
    triangles, field = plane(folder)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), width_ratios=(1.2, 1), layout="constrained")
    colors = left.tricontourf(triangles, field["mach"], levels=np.arange(0.0, 1.45, 0.05), cmap="RdYlBu_r", extend="max")
    left.tricontour(triangles, field["mach"], levels=[1.0], colors="k", linewidths=0.8)
    left.set_aspect("equal")
    left.set(xlim=(-0.5, 1.5), ylim=(-0.8, 1.0), xlabel="x", ylabel="y", title="Mach number; the line is Mach 1")
    left.set_xticks([-0.5, 0.0, 0.5, 1.0, 1.5])
    figure.colorbar(colors, ax=left, shrink=0.85)
    cut = columns(folder / "cut_wall.csv")
    for side, color, name in [(1, BLUE, "upper side"), (-1, ORANGE, "lower side")]:
        part = cut["side"] == side
        right.plot(cut["x"][part], cut["cp"][part], color=color, label=name)
    right.invert_yaxis()
    right.set(xlabel="x / c", ylabel="Cp", title="Pressure coefficient")
    right.grid(alpha=0.3)
    right.legend(frameon=False, loc="lower right")
    figure.savefig(out, dpi=110)


def cylinder(folder, out):
    """Speed around a cylinder and the streamlines of its wake."""
    import matplotlib.tri as tri

    triangles, field = plane(folder)
    u, v = np.asarray(field["velocity"])[:, :2].T
    far = np.max(np.hypot(triangles.x, triangles.y))
    stream = np.median(u[np.hypot(triangles.x, triangles.y) > 0.9 * far])
    figure, axes = plt.subplots(figsize=(7.5, 3.4), layout="constrained")
    levels = np.arange(0.0, 1.21, 0.05)
    colors = axes.tricontourf(triangles, np.hypot(u, v) / stream, levels=levels, cmap="viridis", extend="max")
    x, y = np.meshgrid(np.linspace(-1.5, 5.0, 261), np.linspace(-1.5, 1.5, 121))
    u, v = (tri.LinearTriInterpolator(triangles, part)(x, y) for part in (u, v))
    axes.streamplot(x, y, u, v, density=(1.6, 1.1), color="white", linewidth=0.6, arrowsize=0.6)
    axes.add_patch(plt.Circle((0.0, 0.0), 0.5, color=GREY, zorder=3))
    axes.set_aspect("equal")
    axes.set(xlim=(-1.5, 5.0), ylim=(-1.5, 1.5), xlabel="x / D", ylabel="y / D")
    figure.colorbar(colors, ax=axes, shrink=0.85, label="speed over the stream's")
    figure.savefig(out, dpi=110)


def channel(folder, out):
    """Mach numbers in a channel with shocks."""
    triangles, field = plane(folder)
    figure, axes = plt.subplots(figsize=(7.5, 2.9), layout="constrained")
    levels = np.arange(0.9375, 1.67, 0.025)  # the free stream lies between two
    colors = axes.tricontourf(triangles, field["mach"], levels=levels, cmap="RdYlBu_r", extend="both")
    axes.set_aspect("equal")
    axes.set(xlabel="x", ylabel="y")
    figure.colorbar(colors, ax=axes, shrink=0.85, label="Mach number", ticks=np.arange(1.0, 1.61, 0.1))
    figure.savefig(out, dpi=110)


def scaling(folder, out):
    """Nodes a second over those of one GPU, on two, four and eight."""
    with open(folder / "scaling-h200.json") as file:
        tables = json.load(file)["tables"]
    figure, axes = plt.subplots(figsize=(5.2, 3.6), layout="constrained")
    axes.plot([1, 8], [1, 8], color=GREY, linewidth=0.8, label="as many times as GPUs")
    curves = [
        (6191003, "peer stores within", ORANGE, "o", "6,191,003 nodes"),
        (786448, "peer stores within", BLUE, "o", "786,448 nodes"),
        (99972, "peer stores within", GREEN, "o", "99,972 nodes"),
        (786448, "NCCL", BLUE, "x", "by NCCL"),
    ]
    # The time of one GPU, of another run where a run has none.
    of_one = {}
    for nodes, halo, color, mark, label in curves:
        found = {1: 1.0}
        for table in tables:
            plain = "sweeps of multicolor" in table["method"] and table["policy"] == "ds"
            for row in table["rows"] if plain and table["nodes"] == nodes else []:
                if row["ranks"] == 1:
                    of_one[nodes] = row["median_s"]
                elif row["exchange"] == "color" and row["halo"].startswith(halo):
                    found[row["ranks"]] = of_one[nodes] / row["median_s"]
        line = "--" if mark == "x" else "-"
        axes.plot(sorted(found), [found[n] for n in sorted(found)], line, marker=mark, markersize=4, color=color, label=label)
    axes.set(xlabel="GPUs of one host", ylabel="times one GPU", xticks=[1, 2, 4, 8], yticks=range(1, 9))
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, loc="upper left")
    figure.savefig(out, metadata={"Date": None})


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    plt.rcParams.update({"font.size": 9, "font.family": "DejaVu Sans", "svg.hashsalt": "chromaflow"})
    drawn = (wing, policies, policies_rans, plate, m6, airfoil, cylinder, channel, scaling)
    pictures = {picture.__name__: picture for picture in drawn}
    pictures[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
