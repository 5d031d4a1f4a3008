#!/usr/bin/env python3
"""Flows with default settings that `survey.py` and `others.py` have not: sectors of all angles up to the whole circle, meshes moved, turned and
scaled, Mach 0.005 to 15, incidence up to 40 degrees, several inlets and outlets, turning walls, hot and cold ones, cells of a million to one.

    pip install numpy
    python3 further.py FOLDER [--program chromaflow] [--jobs 16] [--limit 120] [--only WORD] [KEY=VALUE...]

As `others.py`; what theory or the same flow on another mesh gives stands in the last column.
"""

from math import cos, pi, radians, sin, sqrt

import survey
from others import EXACT, FOIL, SECTOR, case, prepared
from survey import back, total


def wall(temperature=None, **motion):
    words = [f"{key} = {value}" for key, value in motion.items()] + ([f"temperature = {temperature}"] if temperature else [])
    return f'{{ kind = "{"moving_wall" if motion else "no_slip"}", {", ".join(words)} }}'


def sector(degrees, radius=0.5):
    """What the stream sees of a body in a sector: its share of the area across."""
    half = radians(degrees / 2)
    return radius**2 * sin(half) * cos(half)


def cases():
    ball = {**SECTOR, **FOIL}
    # A sphere, Mach 0.2: nothing; its polygons of so many sides have less area than the circle.
    for angle, wedges in ((5, 1), (40, 4), (90, 6), (180, 12), (360, 24)):
        area = wedges * sector(angle / wedges)
        case(f"ball{angle}_euler_m02", f"ball{angle}", 0.2, ball if angle < 360 else FOIL, area=area, exact="cd 0")
        case(f"ball{angle}_euler_m3", f"ball{angle}", 3, ball if angle < 360 else FOIL, area=area)
    case("ball40_lam_re50", "ball40", 0.1, ball, re=50, area=4 * sector(10), exact="cd 1.57 (Re 50)")
    case("ball360_lam_re50", "ball360", 0.1, FOIL, re=50, area=24 * sector(15), exact="cd 1.57 (Re 50)")
    nose = {**SECTOR, "wall": "body", "far": "farfield", "outlet": "extrapolation"}
    whole = {key: what for key, what in nose.items() if key not in SECTOR}
    # Cones: Taylor and Maccoll.
    base = lambda half, length, angle, n: n * sector(angle / n, length * sin(radians(half)))
    case("tip5_euler_m2", "tip5", 2, nose, area=base(15, 2, 5, 1), exact="cd 0.2022 (Taylor-Maccoll)")
    case("tip5_euler_m8", "tip5", 8, nose, area=base(15, 2, 5, 1), exact="cd 0.1461 (Taylor-Maccoll)")
    case("tip90_euler_m3", "tip90", 3, nose, area=base(20, 1, 90, 10), exact="cd 0.2843 (Taylor-Maccoll)")
    case("tip360_euler_m3", "tip360", 3, whole, area=base(20, 1, 360, 20), exact="cd 0.2843 (Taylor-Maccoll)")
    case("tip360_euler_m3_a15", "tip360", 3, whole, 15)
    case("tip360_euler_m4_a40", "tip360", 4, whole, 40)
    case("nose360_euler_m6_a20", "nose360", 6, whole, 20)
    case("nose20_euler_m15", "nose20", 15, nose)
    case("nose20_lam_m6", "nose20", 6, {**nose, "wall": wall(1.0)}, re=1e4)
    # The same airfoil in other places: as `joukt_euler_m01` of others.py.
    lift = 8 * pi / 4 * sqrt(1.1**2 + 0.08**2) * sin(radians(3) + pi / 180 * 4.1597)
    for name, alpha, chord in (("jmm", 3, 1e-3), ("jkm", 3, 1e3), ("jfar", 3, 1), ("jturned", 33, 1)):
        case(f"{name}_euler_m01", name, 0.1, FOIL, alpha, area=chord, exact=f"cl {lift:.4f} cd 0")
    case("jmm_euler_m0005", "jmm", 0.005, FOIL, 3, area=1e-3, exact=f"cl {lift:.4f} cd 0")
    case("jfar_euler_m07", "jfar", 0.7, FOIL)
    # Ducts.
    duct = {"wall": "body", "inlet": total(0.3), "outlet": back()}
    case("throat_euler_m02", "throat", 0.2, {**duct, "inlet": total(0.2)})
    p, _ = survey.isentropic(0.3)
    case("throat_euler_choked", "throat", 0.3, {**duct, "outlet": back(0.2 * p)})
    case("throat_euler_flow", "throat", 0.2, {**duct, "inlet": total(0.2), "outlet": '{ kind = "mass_flow_outlet", mass_flow = 0.14 }'})
    case("cone_diffuser_sa", "cone_diffuser", 0.3, duct, re=2e5, model="sa-neg")
    case("cone_diffuser_lam", "cone_diffuser", 0.1, {**duct, "inlet": total(0.1)}, re=200)
    wye = {"wall": "body", "trunk": total(0.3), "upper": back(), "lower": back(1.01)}
    case("wye_euler_m03", "wye", 0.3, wye)
    case("wye_lam", "wye", 0.3, wye, re=500)
    flow = '{ kind = "mass_flow_outlet", mass_flow = 0.12 }'
    case("wye_flow", "wye", 0.3, {**wye, "upper": flow}, re=500)
    hot = total(0.3, (-1.0, 0.0, 0.0)).replace("total_temperature = 1.018000", "total_temperature = 2.0")
    mix = {"wall": "body", "trunk": back(), "upper": hot, "lower": total(0.2, (-1.0, 0.0, 0.0))}
    case("wye_mixing", "wye", 0.3, mix, re=500, about="Two inlets, one of them hot, one outlet")
    # Between cylinders: torque and warmth of Couette's flow.
    spin = wall(1.0, rotation=[0.0, 0.0, 0.2])
    case("annulus_lam_m02", "annulus", 0.2, {"hub": spin, "casing": wall(1.0)}, re=20)
    case("annulus_lam_m1", "annulus", 1.0, {"hub": spin.replace("0.2", "1.0"), "casing": wall(1.5)}, re=50)
    # Plates.
    plate = {"wall": "body", "symmetry": "symmetry", "high": "farfield", "inlet": total(0.3), "outlet": back()}
    fast = {**plate, "inlet": "farfield", "outlet": "extrapolation"}
    case("sharp_sa_m03", "sharp", 0.3, plate, re=1e7, model="sa-neg", area=2)
    case("sharp_sst_m2", "sharp", 2, fast, re=1e7, model="sst", area=2)
    case("platel_lam_re1e6", "platel", 0.3, plate, re=1e6, exact=f"cd {1.328e-3:.5f}")
    case("platel_lam_hot", "platel", 0.3, {**plate, "wall": wall(2.0)}, re=1e5)
    case("platel_lam_m8_cold", "platel", 8, {**fast, "wall": wall(0.5)}, re=1e5)
    case("platel_lam_m8_hot", "platel", 8, {**fast, "wall": wall(8.0)}, re=1e5)
    # A wing with a blunt trailing edge between planes, a row of blades.
    wing = {**FOIL, "sides": "symmetry"}
    case("bluntwing_euler_m05", "bluntwing", 0.5, wing, 4, area=1.5)
    case("bluntwing_euler_m12", "bluntwing", 1.2, wing, 4, area=1.5)
    turns = {"low": '{ kind = "periodic", with = "high" }', "high": '{ kind = "periodic", with = "low" }'}
    way = (cos(radians(30)), sin(radians(30)), 0.0)
    row = {"blade": "body", **turns, "inlet": total(0.4, way), "outlet": back(1.02)}
    case("row_euler_m04", "row", 0.4, row, 30)
    case("row_lam", "row", 0.3, {**row, "inlet": total(0.3, way), "outlet": back(1.0)}, 30, re=2000)
    sides = {"wall": "body", "floor": "body", "top": "farfield", "inlet": "farfield", "outlet": "extrapolation"}
    case("swept_euler_m3", "swept", 3, sides)


if __name__ == "__main__":
    survey.main(__doc__, lambda folder: prepared(folder, ["by_turns"], cases), EXACT)
