"""Meshes of `others.py` by the Delaunay filters of VTK (PyPI: pyvista), which know no sides: clouds of points around bodies."""

import numpy as np
import pyvista

from kit import TET, TRIANGLE, Soup, mesh


def fibonacci(n, turn=0.0):
    k = np.arange(n) + 0.5
    z, a = 1 - 2 * k / n, np.pi * (1 + 5**0.5) * k + turn
    s = np.sqrt(1 - z * z)
    return np.stack([s * np.cos(a), s * np.sin(a), z], 1)


@mesh
def vtkshells():
    """Points of spirals on shells around a sphere of diameter 1; what lies within is taken away, and what is flat."""
    radii = 0.5 * np.exp(np.linspace(0, np.log(20), 14))
    points = np.concatenate([r * fibonacci(500, 7.0 * k) for k, r in enumerate(radii)])
    cells = pyvista.PolyData(points).delaunay_3d().cells_dict[10]
    shell = cells // 500
    cells = cells[~(shell == 0).all(1)]
    return without_flat(Soup(points, {TET: cells})), lambda m, n: "wall" if np.linalg.norm(m) < 1 else "far"


@mesh
def vtksun():
    """A sunflower's points about an ellipse."""
    ring, turn = np.divmod(np.arange(28 * 72), 72)
    angle = 2 * np.pi * (turn / 72 + 0.381966 * ring)
    points = 0.5 * np.exp(0.13 * ring)[:, None] * np.stack([np.cos(angle), 0.5 * np.sin(angle)], 1)
    faces = pyvista.PolyData(np.c_[points, 0 * points[:, 0]]).delaunay_2d().faces.reshape(-1, 4)[:, 1:]
    faces = faces[~(faces < 72).all(1)]
    return Soup(points, {TRIANGLE: faces}).tidy(), lambda m, n: "wall" if np.hypot(m[0], 2 * m[1]) < 0.7 else "far"


def without_flat(soup):
    """Slivers at the hull of a cloud have no volume to speak of."""
    p = soup.points[soup.cells[TET]]
    volume = np.abs((np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]) * (p[:, 3] - p[:, 0])).sum(1))
    longest = np.max([np.linalg.norm(p[:, a] - p[:, b], axis=1) for a in range(4) for b in range(a)], axis=0)
    edge = (soup.points[soup.cells[TET]].mean(1) ** 2).sum(1) ** 0.5 > 9.4
    soup.cells[TET] = soup.cells[TET][~(edge & (volume < 1e-3 * longest**3))]
    return soup.tidy()
