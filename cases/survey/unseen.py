#!/usr/bin/env python3
"""Flows with default settings of kinds that `survey.py`, `others.py` and `further.py` have not: bluff and iced bodies at high Reynolds numbers, a body with
a wing, a nacelle, turbulent layers of prisms and of tetrahedra, wings at M 1.5, meshes of 300 nodes, in millimetres, cells of 1e5 to one.

    pip install gmsh numpy
    python3 unseen.py FOLDER [--program chromaflow] [--jobs 16] [--limit 120] [--only WORD] [KEY=VALUE...]

As `others.py`.
"""

from math import cos, radians, sin

import survey
from further import wall
from others import EXACT, FOIL, case, prepared
from survey import back, total


def cases():
    # Bluff bodies and ice.
    case("bluff_sa_re36e5", "bluff", 0.2, FOIL, re=3.6e6, model="sa-neg", about="A steady wake is doubtful")
    case("bluff_sst_re36e5", "bluff", 0.2, FOIL, re=3.6e6, model="sst", about="A steady wake is doubtful")
    case("bluff_sa_m08", "bluff", 0.8, FOIL, re=1e6, model="sa-neg")
    case("ice_sa_m02", "ice", 0.2, FOIL, 4, 2e6, model="sa-neg")
    case("ice_sst_m02", "ice", 0.2, FOIL, 2, 2e6, model="sst")
    # Coarse, tiny, stretched.
    for mach in (0.05, 0.3, 0.8, 1.5):
        case(f"coarse_euler_m{str(mach).replace('.', '')}", "coarse", mach, FOIL, 2)
    case("coarse_lam_re500", "coarse", 0.3, FOIL, 2, 500)
    case("coarset_sa_m03", "coarset", 0.3, FOIL, 2, 1e6, model="sa-neg")
    case("coarset_sst_m07", "coarset", 0.7, FOIL, 0, 1e6, model="sst")
    case("thin_sa_m05", "thin", 0.5, FOIL, 1, 3e7, model="sa-neg")
    case("thin_sst_m03", "thin", 0.3, FOIL, 2, 3e7, model="sst")
    case("milli_sa_m03", "milli", 0.3, FOIL, 3, 1e6, length=1e-3, model="sa-neg", area=1e-3, ref=1e-3)
    case("milli_sa_m075", "milli", 0.75, FOIL, 1, 1e6, length=1e-3, model="sa-neg", area=1e-3, ref=1e-3)
    case("milli_sst_m03", "milli", 0.3, FOIL, 0, 1e6, length=1e-3, model="sst", area=1e-3, ref=1e-3)
    # A row of blades.
    turns = {"low": '{ kind = "periodic", with = "high" }', "high": '{ kind = "periodic", with = "low" }'}
    way = (cos(radians(30)), sin(radians(30)), 0.0)
    row = {"blade": "body", **turns, "inlet": total(0.4, way), "outlet": back(1.02)}
    case("rowv_sa_m04", "rowv", 0.4, row, 30, 3e5, model="sa-neg")
    case("rowv_sst_m04", "rowv", 0.4, row, 30, 3e5, model="sst")
    # Ducts.
    flow = '{ kind = "mass_flow_outlet", mass_flow = 0.15 }'
    case("sduct_lam", "sduct", 0.2, {"wall": "body", "inlet": total(0.2), "outlet": flow}, re=300)
    case("sduct_euler_m03", "sduct", 0.3, {"wall": "body", "inlet": total(0.3), "outlet": back()})
    lid = wall(1.0, velocity=[0.2, 0.0, 0.0])
    case("cavity3_lam", "cavity3", 0.2, {"wall": wall(1.0), "lid": lid}, re=200)
    # Layers in space.
    slab = {**FOIL, "sides": "symmetry"}
    for mesh in ("prismwing", "tetwing"):
        case(f"{mesh}_sa_m03", mesh, 0.3, slab, 3, 2e6, model="sa-neg", area=1.0)
        case(f"{mesh}_sst_m03", mesh, 0.3, slab, 3, 2e6, model="sst", area=1.0)
    case("prismwing_sa_m08", "prismwing", 0.8, slab, 1, 2e6, model="sa-neg", area=1.0)
    # By Gmsh.
    half = {**FOIL, "symmetry": "symmetry"}
    case("grain_euler_m03", "grain", 0.3, half, area=0.39, exact="cd 0")
    case("grain_euler_m3", "grain", 3, half, area=0.39)
    case("grain_lam_re50", "grain", 0.2, half, re=50, area=0.39, exact="cd 1.57 (Re 50)")
    for name, machs in (("fighter", (0.9, 1.5, 2.5)), ("transport", (0.3, 0.8)), ("ring", (0.3, 0.8, 1.5))):
        for mach in machs:
            case(f"{name}_euler_m{int(10 * mach):02}", name, mach, half, 3)


if __name__ == "__main__":
    survey.main(__doc__, lambda folder: prepared(folder, ["by_gmsh"], cases), EXACT)
