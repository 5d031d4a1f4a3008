#!/usr/bin/env python3
"""Flows with default settings on meshes that are not Gmsh's: written point by point, by Triangle, TetGen, Netgen and VTK.

    pip install numpy meshpy tetgen netgen-mesher pyvista      # what is not there is said, and its meshes are left out
    python3 others.py FOLDER [--program chromaflow] [--jobs 16] [--limit 120] [--only WORD] [KEY=VALUE...]

Meshes lie in FOLDER/m and are made once. Where theory knows a force, it stands in the last column: thin-airfoil and Joukowski lift, oblique shocks,
expansions, quasi-one-dimensional nozzles, d'Alembert. Nothing was tuned on these meshes, and some of the flows may have no steady state.
"""

import importlib
from math import atan, cos, pi, radians, sin, sqrt, tan

import kit
import survey
from survey import back, blown, total

EXACT = {}


def case(name, mesh, mach, sides, *args, exact="", **named):
    survey.case(name, mesh, mach, sides, *args, **named)
    survey.CASES[name] = survey.CASES[name].replace(f"m/{mesh}.msh", f"m/{mesh}.su2")
    if exact:
        EXACT[name] = exact


FOIL = {"wall": "body", "far": "farfield"}
SECTOR = {"left": "symmetry", "right": "symmetry"}


def wedge_pressure(mach, degrees):
    """Pressure ratio behind an attached oblique shock, by its angle (weak solution)."""
    theta, low, high = radians(degrees), 0.0, pi / 2
    angles = [low + (high - low) * k / 20000 for k in range(1, 20000)]

    def turn(b):
        return 2 / tan(b) * ((mach * sin(b)) ** 2 - 1) / (mach**2 * (1.4 + cos(2 * b)) + 2)

    for b in angles:
        if (mach * sin(b)) > 1 and turn(b) > tan(theta):
            return 1 + 2.8 / 2.4 * ((mach * sin(b)) ** 2 - 1)
    raise ValueError("detached")


def expanded_pressure(mach, degrees):
    def nu(m):
        return sqrt(6) * atan(sqrt((m * m - 1) / 6)) - atan(sqrt(m * m - 1))

    low, high = mach, 50.0
    for _ in range(100):
        mid = 0.5 * (low + high)
        low, high = (mid, high) if nu(mid) < nu(mach) + radians(degrees) else (low, mid)
    return ((1 + 0.2 * mach**2) / (1 + 0.2 * low**2)) ** 3.5


def cd_of_wall(mach, ratio, rise):
    """Drag of a wall of the frontal height `rise` under the pressure `ratio`."""
    return (ratio - 1) / (0.7 * mach**2) * rise


def nozzle_drag(inlet, throat, exit):
    """Drag coefficient of the walls of a choked nozzle of these areas, by the Mach number before it: momentum of one-dimensional flow."""

    def mach(ratio, low, high):
        for _ in range(100):
            m = 0.5 * (low + high)
            area = ((1 + 0.2 * m * m) / 1.2) ** 3 / m
            low, high = (m, high) if (area < ratio) == (low >= 1) else (low, m)
        return low

    fore, aft = mach(inlet / throat, 1e-3, 1), mach(exit / throat, 1, 20)
    pressure = survey.isentropic(fore)[0] / survey.isentropic(aft)[0]
    force = (1 + 1.4 * fore**2) * inlet - pressure * (1 + 1.4 * aft**2) * exit - (inlet - exit)
    return force / (0.7 * fore**2)


def cases():
    # Airfoils and other planar bodies.
    lift = {a: 8 * pi / 4 * sqrt(1.1**2 + 0.08**2) * sin(radians(a) + pi / 180 * 4.1597) for a in (0, 3)}
    case("jouk_euler_m002", "jouk", 0.02, FOIL, 3, exact=f"cl {lift[3]:.4f} cd 0")
    case("jouk_euler_m01", "jouk", 0.1, FOIL, 0, exact=f"cl {lift[0]:.4f} cd 0")
    case("jouk_euler_m06", "jouk", 0.6, FOIL, 1)
    case("jouk_euler_m14", "jouk", 1.4, FOIL, 1)
    case("joukt_euler_m01", "joukt", 0.1, FOIL, 3, exact=f"cl {lift[3]:.4f} cd 0")
    case("joukt_euler_m07", "joukt", 0.7, FOIL, 0)
    case("jouk_lam_re300", "jouk", 0.2, FOIL, 2, 300)
    case("nacac_sa_m02", "nacac", 0.2, FOIL, 4, 3e6, model="sa-neg")
    case("nacac_sst_m02", "nacac", 0.2, FOIL, 4, 3e6, model="sst")
    case("nacac_sa_m075", "nacac", 0.75, FOIL, 1, 3e6, model="sa-neg")
    case("nacac_euler_m03", "nacac", 0.3, FOIL, 2, about="Euler on cells made for a boundary layer")
    case("nacacm_euler_m05", "nacacm", 0.5, FOIL, 2, exact="cd 0")
    case("nacacm_euler_m085", "nacacm", 0.85, FOIL, 1)
    case("nacacm_lam_re2000", "nacacm", 0.4, FOIL, 1, 2000)
    case("nacaxz_euler_m03", "nacaxz", 0.3, {**FOIL, "sides": "symmetry"}, 2, area=0.3, exact="cd 0")
    case("nacaxz_euler_m08", "nacaxz", 0.8, {**FOIL, "sides": "symmetry"}, 1, area=0.3)
    case("lens_euler_m02", "lens", 0.2, FOIL, 2, exact="cd 0")
    case("lens_euler_m3", "lens", 3, FOIL, 2)
    case("cyluneven_lam_re30", "cyluneven", 0.1, FOIL, 0, 30, exact="cd 1.74 (Re 30)")
    side = {"upper": "body", "lower": "body", "far": "farfield"}
    case("side_lam_re20", "side", 0.1, side, 0, 20)
    case("side_euler_m03", "side", 0.3, side)
    case("side_euler_m2", "side", 2, side)
    tandem = {"square": "body", "small": "body", "far": "farfield"}
    case("tandem_lam_re15", "tandem", 0.15, tandem, 0, 15)
    case("tandem_euler_m4", "tandem", 4, tandem)
    foils = {"foil0": "body", "foil1": "body", "foil2": "body", "far": "farfield"}
    case("three_euler_m015", "three", 0.15, foils, 3, exact="cd 0")
    case("three_euler_m06", "three", 0.6, foils, 0)
    case("three_lam_re200", "three", 0.3, foils, 0, 200)
    case("hybrid_sa_m015", "hybrid", 0.15, FOIL, 5, 2e6, model="sa-neg")
    case("hybrid_sst_m03", "hybrid", 0.3, FOIL, 2, 2e6, model="sst")
    case("hybrid_sa_m07", "hybrid", 0.7, FOIL, 1, 2e6, model="sa-neg")
    case("hybrid_euler_m04", "hybrid", 0.4, FOIL, 1, about="Euler on cells made for a boundary layer")
    case("hybridt_sa_m03", "hybridt", 0.3, FOIL, 3, 5e5, model="sa-neg")
    case("hybridt_sst_m05", "hybridt", 0.5, FOIL, 0, 5e5, model="sst")
    case("hybridt_lam_m15", "hybridt", 1.5, FOIL, 0, 5000)
    case("cylh_lam_re40", "cylh", 0.2, FOIL, 0, 40, exact="cd 1.52 (Re 40)")
    case("cylh_lam_m4", "cylh", 4, FOIL, 0, 1000)
    case("ngfoil_euler_m02", "ngfoil", 0.2, FOIL, 3, exact="cd 0")
    case("ngfoil_euler_m072", "ngfoil", 0.72, FOIL, 1)
    dart = {"wall": "body", "far": "farfield", "outlet": "extrapolation"}
    case("ngdart_euler_m15", "ngdart", 1.5, dart)
    case("ngdart_euler_m3", "ngdart", 3, dart, 2)
    case("ngdart_euler_m6", "ngdart", 6, dart)
    case("wedget_euler_m3", "wedget", 3, dart)
    case("wedget_euler_m8", "wedget", 8, dart)
    case("vtksun_euler_m03", "vtksun", 0.3, FOIL, exact="cd 0")
    case("vtksun_lam_re100", "vtksun", 0.2, FOIL, 0, 100)
    case("vtksun_euler_m18", "vtksun", 1.8, FOIL)

    # Channels.
    fast = {"low": "body", "high": "farfield", "inlet": "farfield", "outlet": "extrapolation"}
    for m in (2, 6):
        exact = cd_of_wall(m, wedge_pressure(m, 10), 1.5 * tan(radians(10)))
        case(f"wedge10_euler_m{m}", "wedge10", m, fast, exact=f"cd {exact:.5f}")
    exact = cd_of_wall(3, wedge_pressure(3, 20), tan(radians(20)))
    case("wedge20t_euler_m3", "wedge20t", 3, fast, exact=f"cd {exact:.5f}")
    case("wedge20t_lam_m5", "wedge20t", 5, fast, re=1e4)
    exact = cd_of_wall(2, expanded_pressure(2, 15), -1.5 * tan(radians(15)))
    case("expand15_euler_m2", "expand15", 2, fast, exact=f"cd {exact:.5f}")
    exact = cd_of_wall(5, expanded_pressure(5, 15), -1.5 * tan(radians(15)))
    case("expand15_euler_m5", "expand15", 5, fast, exact=f"cd {exact:.5f}")
    # Area 1 : 0.5 : 0.7, M 0.3059 before and 1.76 behind where choked.
    p, _ = survey.isentropic(0.3059)
    laval = {"low": "symmetry", "high": "body", "inlet": total(0.3059)}
    case("laval2_subsonic", "laval2", 0.2, {**laval, "inlet": total(0.2), "outlet": back(0.98)})
    case("laval2_shock", "laval2", 0.3059, {**laval, "outlet": back(0.75 * p)})
    exact = f"cd {nozzle_drag(1.0, 0.5, 0.7):.3f} (one-dimensional)"
    case("laval2_choked", "laval2", 0.3059, {**laval, "outlet": back(0.1 * p)}, exact=exact, about="The outlet's pressure does not matter")
    case("laval2_extrapolated", "laval2", 0.3059, {**laval, "outlet": "extrapolation"}, exact=exact)
    case("laval2_sa_shock", "laval2", 0.3059, {**laval, "outlet": back(0.8 * p)}, re=1e6, model="sa-neg")
    laval = {**SECTOR, "wall": "body", "inlet": total(0.3059)}
    case("laval3_subsonic", "laval3", 0.2, {**laval, "inlet": total(0.2), "outlet": back(0.98)})
    exact = f"cd {nozzle_drag(1.0, 0.5, 0.7) * sin(radians(3)) * cos(radians(3)):.4f} (one-dimensional)"
    case("laval3_choked", "laval3", 0.3059, {**laval, "outlet": back(0.1 * p)}, exact=exact)
    duct = {"wall": "body", "outlet": back()}
    case("sduct_euler_m03", "sduct", 0.3, {**duct, "inlet": total(0.3)})
    case("sduct_lam_re500", "sduct", 0.2, {**duct, "inlet": blown(0.2)}, re=500)
    case("sduct_sa_m05", "sduct", 0.5, {**duct, "inlet": total(0.5)}, re=1e5, model="sa-neg")
    case("elbow_euler_m02", "elbow", 0.2, {**duct, "inlet": total(0.2)})
    case("elbow_lam_re300", "elbow", 0.1, {**duct, "inlet": blown(0.1)}, re=300)
    case("elbow_sst_m03", "elbow", 0.3, {**duct, "inlet": total(0.3)}, re=2e5, model="sst")
    still, lid = '{ kind = "no_slip", temperature = 1.0 }', '{ kind = "moving_wall", velocity = [0.1, 0.0], temperature = 1.0 }'
    lid = lid.replace("0.0]", "0.0, 0.0]")
    case("cavity_lam_re100", "cavity", 0.1, {"wall": still, "lid": lid}, re=100)
    case("cavity_lam_re1000", "cavity", 0.1, {"wall": still, "lid": lid}, re=1000)
    case("cavityt_lam_re400", "cavityt", 0.1, {"wall": still, "lid": lid}, re=400)
    turns = {"inlet": '{ kind = "periodic", with = "outlet" }', "outlet": '{ kind = "periodic", with = "inlet" }'}
    case("couette_lam_m02", "couette", 0.2, {"low": still, "high": lid.replace("0.1", "0.2"), **turns}, re=50)
    case("couette_lam_m2", "couette", 2.0, {"low": still, "high": lid.replace("0.1", "2.0"), **turns}, re=200)
    case("step2_lam_re200", "step2", 0.2, {"low": "body", "high": "body", "inlet": blown(0.2), "outlet": back()}, re=200)
    case("step2_sa_m03", "step2", 0.3, {"low": "body", "high": "body", "inlet": total(0.3), "outlet": back()}, re=1e5, model="sa-neg")
    case("step2_euler_m2", "step2", 2, {"low": "body", "high": "body", "inlet": "farfield", "outlet": "extrapolation"})
    plate = {"wall": "body", "symmetry": "symmetry", "high": "farfield", "outlet": back()}
    case("platet_sa_m03", "platet", 0.3, {**plate, "inlet": total(0.3)}, re=2e6, model="sa-neg", area=2, exact="cd 0.0035 (Schlichting)")
    case("platet_sst_m03", "platet", 0.3, {**plate, "inlet": total(0.3)}, re=2e6, model="sst", area=2)
    supersonic = {**plate, "inlet": "farfield", "outlet": "extrapolation"}
    case("platet_sa_m3", "platet", 3, supersonic, re=2e6, model="sa-neg", area=2)
    case("plateq_lam_m02", "plateq", 0.2, {**plate, "inlet": total(0.2)}, re=2e4, exact=f"cd {1.328 / sqrt(2e4):.5f}")
    case("plateq_lam_m005", "plateq", 0.05, {**plate, "inlet": total(0.05)}, re=2e4, exact=f"cd {1.328 / sqrt(2e4):.5f}")
    case("plateq_lam_m4", "plateq", 4, supersonic, re=2e4)
    tee = {"wall": "body", "outlet": back(), "branch": back()}
    case("tee_lam_re100", "tee", 0.1, {**tee, "inlet": blown(0.1)}, re=100)
    case("tee_euler_m03", "tee", 0.3, {**tee, "inlet": total(0.3)})
    case("tee_sa_m02", "tee", 0.2, {**tee, "inlet": total(0.2)}, re=1e5, model="sa-neg")
    intake = {"wall": "body", "cowl": "body", "top": "farfield", "inlet": "farfield", "outlet": "extrapolation"}
    case("double_euler_m3", "double", 3, intake)
    case("double_euler_m5", "double", 5, intake)
    bump = {"low": "body", "high": "slip_wall"}
    case("bumpt_euler_m05", "bumpt", 0.5, {**bump, "inlet": total(0.5), "outlet": back()}, exact="cd 0")
    case("bumpt_euler_m003", "bumpt", 0.03, {**bump, "inlet": total(0.03), "outlet": back()}, exact="cd 0")
    case("bumpt_euler_m07", "bumpt", 0.7, {**bump, "inlet": total(0.7), "outlet": back()})
    case("bumpt_euler_m17", "bumpt", 1.7, {**bump, "inlet": "farfield", "outlet": "extrapolation"})
    case("ngslot_lam_re100", "ngslot", 0.1, {**duct, "inlet": blown(0.1)}, re=100)
    case("ngslot_euler_m02", "ngslot", 0.2, {**duct, "inlet": total(0.2)}, about="A cavity in inviscid flow: what is in it is free")

    # Bodies of revolution in sectors.
    nose = {**SECTOR, "wall": "body", "far": "farfield", "outlet": "extrapolation"}
    cold = {**nose, "wall": '{ kind = "no_slip", temperature = 3.0 }'}
    case("bcone_euler_m5", "bcone", 5, nose, about="Euler on cells made for a boundary layer")
    case("bcone_lam_m8", "bcone", 8, cold, re=1e5)
    case("bcone_sa_m5", "bcone", 5, cold, re=2e6, model="sa-neg")
    case("bconei_euler_m3", "bconei", 3, nose)
    case("bconei_euler_m8", "bconei", 8, nose)
    ball = {**SECTOR, **FOIL}
    ring = 0.25 * sin(radians(5)) * cos(radians(5))
    case("spheresector_euler_m005", "spheresector", 0.05, ball, area=ring, exact="cd 0")
    case("spheresector_euler_m03", "spheresector", 0.3, ball, area=ring, exact="cd 0")
    case("spheresector_lam_re100", "spheresector", 0.1, ball, re=100, area=ring, exact="cd 1.09 (Re 100)")
    case("spheresector_euler_m2", "spheresector", 2, ball, area=ring)
    tube = {**SECTOR, "wall": "body", "far": "farfield", "inlet": "farfield", "outlet": "extrapolation"}
    case("flare_euler_m25", "flare", 2.5, tube)
    case("flare_lam_m5", "flare", 5, tube, re=1e4)

    # In space.
    box = {"wall": "body", "symmetry": "symmetry", "far": "slip_wall"}
    case(
        "brick_euler_m02", "brick", 0.2, {**box, "inlet": total(0.2), "outlet": back()}, about="Sharp rear edges: a steady wake is doubtful"
    )
    case("brick_lam_re100", "brick", 0.2, {**box, "inlet": blown(0.2), "outlet": back()}, re=100)
    case("brick_euler_m2", "brick", 2, {**box, "far": "farfield", "inlet": "farfield", "outlet": "extrapolation"})
    bump3 = {"low": "body", "high": "slip_wall", "symmetry": "symmetry"}
    case("bump3_euler_m03", "bump3", 0.3, {**bump3, "inlet": total(0.3), "outlet": back()}, exact="cd 0")
    case("bump3_euler_m08", "bump3", 0.8, {**bump3, "inlet": total(0.8), "outlet": back()})
    case("bump3_lam_re500", "bump3", 0.3, {**bump3, "inlet": total(0.3), "outlet": back()}, re=500)
    case("cube_euler_m05", "cube", 0.5, {"far": "farfield"}, 10, exact="cl 0 cd 0")
    case("cube_euler_m3", "cube", 3, {"far": "farfield"}, 10, exact="cl 0 cd 0")
    case("tgballs_euler_m02", "tgballs", 0.2, FOIL)
    case("tgballs_euler_m25", "tgballs", 2.5, FOIL)
    case("tgballs_lam_re50", "tgballs", 0.2, FOIL, re=50)
    case("tgwing_euler_m03", "tgwing", 0.3, FOIL, 4, area=3)
    case("tgwing_euler_m085", "tgwing", 0.85, FOIL, 2, area=3)
    case("tgdelta_euler_m04", "tgdelta", 0.4, FOIL, 6, area=0.6)
    case("tgdelta_euler_m22", "tgdelta", 2.2, FOIL, 6, area=0.6)
    case("tgpod_euler_m03", "tgpod", 0.3, FOIL, 3, area=2.1e6)
    case("tgpod_euler_m08", "tgpod", 0.8, FOIL, 1, area=2.1e6)
    case("tgpod_lam_re1000", "tgpod", 0.3, FOIL, 1, 1000, 1000.0, area=2.1e6)
    case("vtkshells_euler_m02", "vtkshells", 0.2, FOIL, exact="cd 0")
    case("vtkshells_lam_re50", "vtkshells", 0.2, FOIL, re=50)
    case("vtkshells_euler_m3", "vtkshells", 3, FOIL)
    balls = {"front": "body", "back": "body", "far": "farfield"}
    case("ngspheres_euler_m01", "ngspheres", 0.1, balls)
    case("ngspheres_euler_m15", "ngspheres", 1.5, balls)
    case("ngspheres_lam_re80", "ngspheres", 0.2, balls, re=80)
    case("ngtee_lam_re100", "ngtee", 0.1, {**tee, "inlet": blown(0.1)}, re=100)
    case("ngtee_euler_m03", "ngtee", 0.3, {**tee, "inlet": total(0.3)})
    capsule = {"wall": "body", "symmetry": "symmetry", "far": "farfield", "outlet": "extrapolation"}
    case("ngcapsule_euler_m12", "ngcapsule", 1.2, capsule, 10)
    case("ngcapsule_euler_m4", "ngcapsule", 4, capsule, 15)
    case("ngcapsule_euler_m8", "ngcapsule", 8, capsule, 20)
    houses = {"wall": "body", "ground": "body", "side": "slip_wall", "outlet": back()}
    case("ngblock_euler_m005", "ngblock", 0.05, {**houses, "inlet": total(0.05)})
    case("ngblock_lam_re100", "ngblock", 0.1, {**houses, "inlet": blown(0.1)}, re=100)
    case("ngventuri_euler_m02", "ngventuri", 0.2, {**duct, "inlet": total(0.2)})
    case("ngventuri_lam_re100", "ngventuri", 0.1, {**duct, "inlet": blown(0.1)}, re=100)


def prepared(folder, generators, cases):
    """Makes the meshes that are not there, and the cases on those that are."""
    place = folder / "m"
    place.mkdir(parents=True, exist_ok=True)
    for generator in generators:
        try:
            importlib.import_module(generator)
        except ImportError as missing:
            print(f"{generator}: {missing}: its meshes are made elsewhere or left out")
    survey.CASES.clear()
    cases()
    for file in sorted({mesh_of(text) for text in survey.CASES.values()}):
        make = kit.MADE.get(file.removesuffix(".su2"))
        if make and not (place / file).exists():
            soup, sides = make()
            soup.write(place / file, sides)
    for name in [name for name, text in survey.CASES.items() if not (place / mesh_of(text)).exists()]:
        del survey.CASES[name]


def mesh_of(text):
    return text.split('file = "m/')[1].split('"')[0]


if __name__ == "__main__":
    generators = ("by_hand", "by_triangle", "by_tetgen", "by_netgen", "by_vtk")
    survey.main(__doc__, lambda folder: prepared(folder, generators, cases), EXACT)
