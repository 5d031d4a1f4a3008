"""Meshes of `others.py` by Netgen (PyPI: netgen-mesher) from solids of Open CASCADE: tetrahedra, planar quadrilaterals and triangles."""

import netgen.meshing as ng
import numpy as np
from netgen import occ

from kit import QUAD, TET, TRIANGLE, Soup, mesh, naca


def soup_of(made, planar=False):
    points = np.array([p.p for p in made.Points()])
    cells = {}
    kinds = {3: TRIANGLE, 4: QUAD} if planar else {4: TET}
    for element in made.Elements2D() if planar else made.Elements3D():
        nodes = [v.nr - 1 for v in element.vertices]
        cells.setdefault(kinds[len(nodes)], []).append(nodes)
    return Soup(points[:, :2] if planar else points, cells).tidy()


def solid(shape, size, grading=0.3, fine=()):
    """Tetrahedra; fine: (names of faces, size)."""
    for face in shape.faces:
        for names, h in fine:
            if face.name in names:
                face.maxh = h
    made = occ.OCCGeometry(shape).GenerateMesh(maxh=size, grading=grading, perfstepsend=ng.MeshingStep.MESHVOLUME)
    return soup_of(made)


def called(shape, name):
    for face in shape.faces:
        face.name = name
    return shape


def spline(points):
    return occ.SplineApproximation([occ.Pnt(*p) for p in points], tol=1e-6)


@mesh
def ngtee():
    """A round pipe of diameter 1 with a branch of 0.7 at right angles."""
    run = occ.Cylinder(occ.Pnt(-3, 0, 0), occ.X, 0.5, 7)
    branch = occ.Cylinder(occ.Pnt(0, 0, 0), occ.Y, 0.35, 3)

    def name(m, n):
        if abs(n[0]) > 0.99 and abs(m[0] - 0.5) > 3.49:
            return "inlet" if m[0] < 0 else "outlet"
        return "branch" if m[1] > 3 - 1e-6 else "wall"

    return solid(run + branch, 0.14), name


@mesh
def ngspheres():
    """Two spheres of diameter 1, one behind the other and aside, in a round far field."""
    a, b = occ.Sphere(occ.Pnt(0, 0, 0), 0.5), occ.Sphere(occ.Pnt(1.6, 0.4, 0.2), 0.35)
    shape = occ.Sphere(occ.Pnt(0.5, 0, 0), 9) - called(a, "front") - called(b, "back")

    def name(m, n):
        if np.linalg.norm(m) > 5:
            return "far"
        return "front" if np.linalg.norm(m) < 0.55 else "back"

    return solid(shape, 3, 0.3, [(["front", "back"], 0.09)]), name


@mesh
def ngcapsule():
    """A capsule with its broad end ahead, half of it, for fast flow at an angle."""
    arc = occ.ArcOfCircle(occ.Pnt(0, 0, 0), occ.Pnt(0.045, 0, 0.3), occ.Pnt(0.18, 0, 0.5))
    edges = [arc, occ.Segment(occ.Pnt(0.18, 0, 0.5), occ.Pnt(0.9, 0, 0.2)), occ.Segment(occ.Pnt(0.9, 0, 0.2), occ.Pnt(0.9, 0, 0))]
    edges.append(occ.Segment(occ.Pnt(0.9, 0, 0), occ.Pnt(0, 0, 0)))
    body = called(occ.Face(occ.Wire(edges)).Revolve(occ.Axis(occ.Pnt(0, 0, 0), occ.X), 360), "wall")
    shape = occ.Box(occ.Pnt(-0.8, 0, -1.6), occ.Pnt(3.2, 1.6, 1.6)) - body

    def name(m, n):
        if m[0] > 3.2 - 1e-6:
            return "outlet"
        if m[0] < -0.8 + 1e-6 or m[1] > 1.6 - 1e-6 or abs(m[2]) > 1.6 - 1e-6:
            return "far"
        return "symmetry" if m[1] < 1e-6 and abs(n[1]) > 0.999 else "wall"

    return solid(shape, 0.22, 0.35, [(["wall"], 0.05)]), name


@mesh
def ngblock():
    """Two blocks on the ground, one behind the other and aside: wind about houses."""
    a, b = occ.Box(occ.Pnt(0, -0.5, 0), occ.Pnt(0.6, 0.5, 0.8)), occ.Box(occ.Pnt(1.8, 0.1, 0), occ.Pnt(2.4, 0.9, 1.2))
    shape = occ.Box(occ.Pnt(-4, -4, 0), occ.Pnt(8, 4, 4)) - called(a, "wall") - called(b, "wall")

    def name(m, n):
        if abs(n[0]) > 0.99 and (m[0] < -3.99 or m[0] > 7.99):
            return "inlet" if m[0] < 0 else "outlet"
        if abs(m[1]) > 3.99 or m[2] > 3.99:
            return "side"
        return "ground" if m[2] < 1e-6 else "wall"

    return solid(shape, 0.9, 0.3, [(["wall"], 0.12)]), name


@mesh
def ngventuri():
    """A round pipe with a throat of half its area and a plenum behind it."""
    x = np.linspace(0, 3, 25)
    r = 0.5 - 0.0732 * (1 - np.cos(2 * np.pi * x / 3))
    top = spline(np.stack([x, 0 * x, r], 1))
    p = lambda x, r: occ.Pnt(x, 0, r)
    rest = [p(3, r[-1]), p(4, r[-1]), p(4, 0.9), p(7, 0.9), p(7, 0), p(-1.5, 0), p(-1.5, r[0]), p(0, r[0])]
    edges = [top] + [occ.Segment(a, b) for a, b in zip(rest[:-1], rest[1:])]
    body = occ.Face(occ.Wire(edges)).Revolve(occ.Axis(occ.Pnt(0, 0, 0), occ.X), 360)

    def name(m, n):
        return "inlet" if m[0] < -1.5 + 1e-6 else "outlet" if m[0] > 7 - 1e-6 else "wall"

    return solid(body, 0.15), name


def planar(shape, size, names, quads=False, grading=0.2):
    made = occ.OCCGeometry(shape, dim=2).GenerateMesh(maxh=size, grading=grading, quad_dominated=quads)
    return soup_of(made, True), names


@mesh
def ngfoil():
    """NACA 2415 of quadrilaterals and triangles, in a box."""
    p = naca("2415", 40)
    p = p[p[:, 0] < 0.99]
    edge = spline(np.c_[p, 0 * p[:, 0]])
    edge.maxh = 0.025
    base = occ.Segment(occ.Pnt(*p[-1], 0), occ.Pnt(*p[0], 0))
    base.maxh = 0.01
    domain = occ.WorkPlane().MoveTo(-7, -8).Rectangle(16, 16).Face() - occ.Face(occ.Wire([edge, base]))
    return planar(domain, 2.0, lambda m, n: "far" if max(abs(m[0]), abs(m[1])) > 5 else "wall", True)


@mesh
def ngslot():
    """A channel with a hole of a half circle in its floor and a round pin at its roof, quadrilaterals and triangles."""
    channel = occ.WorkPlane().MoveTo(-2, 0).Rectangle(6, 1).Face()
    shape = channel + occ.WorkPlane().Circle(0, 0, 0.3).Face() - occ.WorkPlane().Circle(1.2, 0.95, 0.25).Face()

    def name(m, n):
        return "inlet" if m[0] < -2 + 1e-6 else "outlet" if m[0] > 4 - 1e-6 else "wall"

    return planar(shape, 0.05, name, True)


@mesh
def ngdart():
    """A dart, sharp ahead and flat behind, triangles: for supersonic flow, with its wake."""
    wp = occ.WorkPlane()
    dart = wp.MoveTo(0, 0).LineTo(1, 0.12).LineTo(1.6, 0.12).LineTo(1.6, -0.12).LineTo(1, -0.12).Close().Face()
    for edge in dart.edges:
        edge.maxh = 0.025
    shape = occ.WorkPlane().MoveTo(-0.6, -2).Rectangle(4.6, 4).Face() - dart

    def name(m, n):
        if m[0] > 4 - 1e-6:
            return "outlet"
        return "far" if m[0] < -0.6 + 1e-6 or abs(m[1]) > 2 - 1e-6 else "wall"

    return planar(shape, 0.09, name, grading=0.1)
