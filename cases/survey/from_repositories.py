#!/usr/bin/env python3
"""Flows with default settings on meshes of other people's public repositories, which are not kept here.

    git clone --depth 1 https://github.com/OWNER/NAME FOLDER/repositories/OWNER/NAME      # each of MESHES; what is not there is said
    pip install gmsh                                                                      # for those that are geometries
    python3 from_repositories.py FOLDER [--program chromaflow] [--jobs 16] [--limit 120] [--only WORD] [KEY=VALUE...]

Meshes lie in FOLDER/m, taken from the clones (or put there by hand, by the names of MESHES). Each has the flow that it was made for, where its
repository says which. Some of the flows may have no steady state. Nothing was tuned on these meshes.
"""

import shutil
import subprocess
from pathlib import Path

import survey
from others import EXACT
from survey import back, blown, isentropic, total

PYMESHGEN, GOCFD, GMSH = "cfd-dev/PyMeshGen", "Notargets/gocfd", "live-clones/gmsh"
# Where each mesh is: repository and path.
MESHES = {
    "semisphere.cgns": (PYMESHGEN, "examples/semisphere/semisphere-hybrid_p1.cgns"),
    "semisphere_hybrid.cas": (PYMESHGEN, "examples/semisphere/semisphere-hybrid.cas"),
    "semisphere_prisms.cas": (PYMESHGEN, "examples/semisphere/semisphere-prism-tet.cas"),
    "semisphere_tets.cas": (PYMESHGEN, "examples/semisphere/semisphere-tetra.cas"),
    "cone.cgns": (PYMESHGEN, "examples/blunt_cone/blunt_cone-hybrid.cgns"),
    "ellipsoid.cgns": (PYMESHGEN, "examples/ellipsoid/ellipsoid-tet-prism_p1.cgns"),
    "sd7003.cgns": (PYMESHGEN, "examples/2d_airfoils/sd7003_vis_p1.cgns"),
    "sd7003_second_order.cgns": (PYMESHGEN, "examples/2d_airfoils/sd7003_vis_p2.cgns"),
    "naca0012_coarse.cas": (PYMESHGEN, "config/input/naca0012-tri-coarse.cas"),
    "naca0012_hybrid.cas": (PYMESHGEN, "unittests/test_files/naca0012-hybrid.cas"),
    "rae2822.cas": (PYMESHGEN, "config/input/rae2822.cas"),
    "three_elements.cas": (PYMESHGEN, "config/input/30p30n-4walls.cas"),
    "anw.cas": (PYMESHGEN, "config/input/anw-hybrid.cas"),
    "cylinder_50.cas": (PYMESHGEN, "config/input/inv_cylinder-50.cas"),
    "elbow.msh": ("OpenFOAM/OpenFOAM-dev", "tutorials/legacy/incompressible/icoFoam/elbow/elbow.msh"),
    "foam_airfoil": ("OpenFOAM/OpenFOAM-dev", "tutorials/incompressibleFluid/airFoil2D/constant/polyMesh"),
    "wedge.msh": (GOCFD, "test_cases/Euler2D/Wedge/wedge.msh"),
    "wedge.su2": (GOCFD, "test_cases/Euler2D/Wedge/wedge.su2"),
    "gocfd_naca.su2": (GOCFD, "test_cases/Euler2D/naca_12/mesh/nacaAirfoil-base.su2"),
    "gocfd_naca_medium.su2": (GOCFD, "test_cases/Euler2D/naca_12/mesh/naca12_2d-medium-lal.su2"),
    "o_65.su2": ("Alexsimulation/finite-volume-2d-cpp", "examples/naca/NACA_M.su2"),
    "o_129.su2": ("Alexsimulation/finite-volume-2d-cpp", "examples/naca/naca0012_129.su2"),
    "flexi_naca.cgns": ("flexi-framework/flexi", "tutorials/naca0012/NACA0012_652.cgns"),
    "flexi_cylinder.cgns": ("flexi-framework/flexi", "ini/cylinder/mesh/Cylinder.cgns"),
    "pyfr_cylinder.msh": ("PyFR/PyFR-Test-Cases", "2d-inc-cylinder/inc-cylinder.msh"),
    "couette.msh": ("PyFR/PyFR-Test-Cases", "2d-couette-flow/couette-flow.msh"),
    "flap.su2": ("precice/tutorials", "perpendicular-flap/fluid-su2/fluidMesh.su2"),
    "heated_plate.su2": ("precice/tutorials", "flow-over-heated-plate/fluid-su2/fluid_mesh.su2"),
    "cube_sphere.meshb": ("nasa/refine", "acceptance/cube-sphere/coarse/cube-sphere.meshb"),
    "arina.su2": ("su2code/TestCases", "disc_adj_euler/arina2k/Arina2Kmesh.su2"),
    "cylinder_in_box.cgns": ("su2code/TestCases", "disc_adj_euler/cylinder3D/cylinder3D.cgns"),
    "edge.su2": ("su2code/TestCases", "nicf/edge/mesh.su2"),
    "wedge_neq.su2": ("su2code/TestCases", "nonequilibrium/invwedge/invwedge.su2"),
    "cylinder_neq.su2": ("su2code/TestCases", "nonequilibrium/visc_cylinder/visc_cyl.su2"),
    "naca_hybrid_v1.su2": ("su2code/TestCases", "navierstokes/naca0012/mesh_NACA0012_lam_hybrid_v1.su2"),
    "bend.su2": ("su2code/Tutorials", "cgns_writer/mesh.su2"),
    "nozzle_fine.su2": ("su2code/Tutorials", "compressible_flow/NICFD_nozzle/PhysicsInformed/nozzle_mesh.su2"),
    "gmsh_naca.msh": (GMSH, "benchmarks/2d/naca12_2d.geo"),
    "gmsh_naca_quads.msh": (GMSH, "benchmarks/2d/naca12_2d_trailing.geo"),
    "gmsh_naca_coarse.msh": (GMSH, "benchmarks/2d/naca12BL.geo"),
    "gmsh_transfinite.msh": (GMSH, "benchmarks/occ/naca0012_transfinite.geo"),
    "gmsh_joukowski.msh": (GMSH, "benchmarks/transfinite/joukowski_12.geo"),
    "gmsh_cylinder.msh": (GMSH, "benchmarks/cgns/flow_around_circular_cylinder.geo"),
}


def case(name, mesh, mach, sides, *args, exact="", **named):
    sides = {side if side.replace("_", "").isidentifier() else f'"{side}"': what for side, what in sides.items()}
    survey.case(name, mesh, mach, sides, *args, **named)
    survey.CASES[name] = survey.CASES[name].replace(f"m/{mesh}.msh", f"m/{mesh}")
    if exact:
        EXACT[name] = exact


def cases():
    foil = {"wall": "body", "farfield": "farfield"}
    half = {"Wall": "body", "Farfield": "farfield", "Symmetry": "symmetry"}
    for mach in (0.3, 0.8, 2, 6):
        case(f"semisphere_euler_m{mach}".replace(".", ""), "semisphere.cgns", mach, half)
    case("semisphere_lam_re100", "semisphere.cgns", 0.3, half, re=100)
    fluent = {"wall": "body", "farfield": "farfield", "symmetry": "symmetry"}
    for mesh in ("hybrid", "prisms", "tets"):
        case(f"semisphere_{mesh}_m03", f"semisphere_{mesh}.cas", 0.3, fluent)
        case(f"semisphere_{mesh}_m2", f"semisphere_{mesh}.cas", 2, fluent)
    for mach in (2, 6):
        case(f"cone_euler_m{mach}", "cone.cgns", mach, {"inlet": "farfield", "outlet": "extrapolation", "wall": "body"}, area=2.3e5)
    body = {"far": "farfield", "symm": "symmetry", "wall": "body"}
    for mach in (0.3, 0.8):
        case(f"ellipsoid_euler_m{mach}".replace(".", ""), "ellipsoid.cgns", mach, body, area=6e4)
    sd = {"Wall": "body", "Farfield": "farfield"}
    case("sd7003_euler_m03", "sd7003.cgns", 0.3, sd, 4)
    case("sd7003_lam_re1000", "sd7003.cgns", 0.2, sd, re=1000)
    case("sd7003_sa_m02", "sd7003.cgns", 0.2, sd, 4, 6e5, model="sa-neg")
    case("sd7003_sst_m02", "sd7003.cgns", 0.2, sd, 4, 6e5, model="sst")
    case("sd7003_second_sa", "sd7003_second_order.cgns", 0.2, {"BCWall": "body", "BCFarfield": "farfield"}, 4, 6e5, model="sa-neg")
    for mesh in ("naca0012_coarse", "naca0012_hybrid"):
        case(f"{mesh}_m05", f"{mesh}.cas", 0.5, foil, 2)
        case(f"{mesh}_m08", f"{mesh}.cas", 0.8, foil, 1.25)
    case("naca0012_hybrid_sa", "naca0012_hybrid.cas", 0.3, foil, 2, 1e6, model="sa-neg")
    case("rae2822_euler_m0729", "rae2822.cas", 0.729, foil, 2.31)
    elements = {"farfield": "farfield", "wall1": "body", "wall2": "body", "wall3": "body"}
    case("three_elements_euler_m02", "three_elements.cas", 0.2, elements, 8)
    case("anw_euler_m03", "anw.cas", 0.3, foil, 2)
    case("anw_sa_m03", "anw.cas", 0.3, foil, 2, 1e6, model="sa-neg")
    for mach in (0.1, 0.38):
        case(f"cylinder_50_m{mach}".replace(".", ""), "cylinder_50.cas", mach, foil, exact="cl 0, cd 0")
    elbow = {"wall-4": "body", "wall-8": "body", "pressure-outlet-7": back()}
    ways = {"velocity-inlet-5": blown(0.02), "velocity-inlet-6": '{ kind = "velocity_inlet", velocity = [0.0, 0.06, 0.0], temperature = 1.0 }'}
    case("elbow_lam_re640", "elbow.msh", 0.02, {**elbow, **ways}, re=640, length=64.0)
    foam = {"walls": "body", "inlet": "farfield", "outlet": "farfield", "frontAndBack": "symmetry"}
    case("foam_airfoil_sa", "foam_airfoil", 0.075, foam, 8, 9.1e7, 35.0, model="sa-neg", area=1.75, lift="y")
    case("foam_airfoil_euler_m03", "foam_airfoil", 0.3, foam, 4, area=1.75, lift="y")
    wedge = {"wall": "body", "in": "farfield", "far": "farfield", "out": "extrapolation"}
    for mach in (1.3, 2, 5):
        case(f"wedge_m{mach}".replace(".", ""), "wedge.msh", mach, wedge)
    case("wedge_su2_m2", "wedge.su2", 2, {"wall": "body", "far": "farfield"})
    far = {"wall": "body", "far": "farfield"}
    for mesh in ("gocfd_naca", "gocfd_naca_medium"):
        case(f"{mesh}_m05", f"{mesh}.su2", 0.5, far, 2)
        case(f"{mesh}_m08", f"{mesh}.su2", 0.8, far, 1.25)
    airfoil = {"airfoil": "body", "farfield": "farfield"}
    for points in (65, 129):
        case(f"o_{points}_m05", f"o_{points}.su2", 0.5, airfoil, 1.25, exact="cd 0")
        case(f"o_{points}_m08", f"o_{points}.su2", 0.8, airfoil, 1.25, exact="codes: cl 0.345 to 0.375, cd 0.0220 to 0.0237")
        case(f"o_{points}_m12", f"o_{points}.su2", 1.2, airfoil, exact="cl 0")
    flexi = {"BC_wall": "body", "BC_inflow": "farfield", "BC_outflow": "farfield", "BC_zminus": "symmetry", "BC_zplus": "symmetry"}
    case("flexi_naca_re5000", "flexi_naca.cgns", 0.4, flexi, 8, 5000, 1000.0, area=5e4, lift="y", about="Sheds vortices where resolved")
    case("flexi_naca_euler_m04", "flexi_naca.cgns", 0.4, flexi, 2, area=5e4, lift="y")
    ends = {"BC_periodicz-": "symmetry", "BC_periodicz+": "symmetry", "BC_wallLower": "symmetry", "BC_wallUpper": "symmetry"}
    ends |= {"BC_inflow": "farfield", "BC_outflow": "farfield", "BC_cylinderUpper": "body", "BC_cylinderLower": "body"}
    case("flexi_cylinder_re40", "flexi_cylinder.cgns", 0.2, ends, re=40, length=2000.0, area=2e6, lift="y")
    case("pyfr_cylinder_re40", "pyfr_cylinder.msh", 0.2, {"wall": "body", "inlet": "farfield", "outlet": "farfield"}, re=40)
    plates = {"bcwalllower": '{ kind = "no_slip", temperature = 1.0 }', "bcwallupper": '{ kind = "moving_wall", velocity = [0.2, 0.0, 0.0], temperature = 1.0 }'}
    turns = {"periodic_0_r": '{ kind = "periodic", with = "periodic_0_l" }', "periodic_0_l": '{ kind = "periodic", with = "periodic_0_r" }'}
    case("couette_re100", "couette.msh", 0.2, {**plates, **turns}, re=100)
    flap = {"inlet": total(0.1), "outlet": back(), "upper_wall": "body", "lower_wall": "body", "interface": "body"}
    case("flap_euler_m01", "flap.su2", 0.1, flap)
    case("flap_lam_re100", "flap.su2", 0.1, flap, re=100)
    hot = {"interface": '{ kind = "no_slip", temperature = 1.1 }', "slip_bottom": "symmetry", "top": "symmetry", "bottom": "body"}
    case("heated_plate_re500", "heated_plate.su2", 0.1, {"inlet": total(0.1), "outlet": back(), **hot}, re=500)
    octant = {"1": "farfield", "2": "farfield", "5": "farfield", "3": "symmetry", "4": "symmetry", "6": "symmetry", "7": "body"}
    case("cube_sphere_euler_m03", "cube_sphere.meshb", 0.3, octant)
    p, _ = isentropic(0.24)
    nozzle = {"INFLOW": total(0.24), "OUTFLOW": back(0.8 * p), "WALL1": "body", "SYMMETRY": "symmetry"}
    case("arina_shock", "arina.su2", 0.24, nozzle)
    box = {"IN": "farfield", "OUT": "farfield", "WALL": "slip_wall", "SIDE": "symmetry", "CYLINDER_DOWN": "body", "CYLINDER_UP": "body"}
    case("cylinder_in_box_euler_m03", "cylinder_in_box.cgns", 0.3, box)
    case("edge_euler", "edge.su2", 0.3, {"INFLOW": total(0.3), "OUTFLOW": back(0.9), "WALL1": "body", "WALL2": "body"})
    cone = {"Inlet": "farfield", "Wall": "body", "Exit": "extrapolation", "Farfield": "farfield", "Euler": "slip_wall"}
    case("wedge_neq_euler_m5", "wedge_neq.su2", 5, cone, exact="cd 0.0203 (oblique shock of 10 degrees)")
    case("cylinder_neq_lam_m6", "cylinder_neq.su2", 6, {"far": "farfield", "wall": '{ kind = "no_slip", temperature = 2.0 }'}, re=1e4, length=0.076)
    case("naca_hybrid_v1_lam_re5000", "naca_hybrid_v1.su2", 0.5, airfoil, re=5000, exact="cl 0, cd 0.055 to 0.056")
    case("naca_hybrid_v1_euler_m08", "naca_hybrid_v1.su2", 0.8, airfoil, 1.25)
    case("naca_hybrid_v1_sa_m05", "naca_hybrid_v1.su2", 0.5, airfoil, 2, 1e6, model="sa-neg")
    case("bend_sa_m01", "bend.su2", 0.1, {"Inlet": total(0.1), "Outlet": back(), "InnerWall": "body", "OuterWall": "body"}, re=2e5, model="sa-neg")
    sides = {"inflow": total(0.3), "outflow": back(0.5), "wall": "body", "symmetry": "symmetry"}
    case("nozzle_fine_sst", "nozzle_fine.su2", 0.3, sides, re=1e6, length=0.0127, model="sst")
    curves = {f"curve_{k}": "body" if k < 5 else "farfield" for k in range(1, 9)}
    for mesh in ("gmsh_naca", "gmsh_naca_quads"):
        case(f"{mesh}_euler_m05", f"{mesh}.msh", 0.5, curves, 2)
        case(f"{mesh}_euler_m08", f"{mesh}.msh", 0.8, curves, 1.25)
        case(f"{mesh}_sa_m03", f"{mesh}.msh", 0.3, curves, 3, 1e6, model="sa-neg")
    case("gmsh_naca_sst_m03", "gmsh_naca.msh", 0.3, curves, 3, 1e6, model="sst")
    coarse = {name: what for name, what in curves.items() if name not in ("curve_3", "curve_4")}
    case("gmsh_naca_coarse_euler_m05", "gmsh_naca_coarse.msh", 0.5, coarse, 2)
    case("gmsh_naca_coarse_sa_m03", "gmsh_naca_coarse.msh", 0.3, coarse, 2, 1e6, model="sa-neg")
    numbers = {"200": "farfield", "300": "farfield", "400": "farfield", "500": "farfield", "600": "body"}
    case("gmsh_transfinite_euler_m05", "gmsh_transfinite.msh", 0.5, numbers, 2)
    case("gmsh_transfinite_euler_m08", "gmsh_transfinite.msh", 0.8, numbers, 1.25)
    case("gmsh_transfinite_sa_m03", "gmsh_transfinite.msh", 0.3, numbers, 3, 1e6, model="sa-neg")
    sides = {"curve_19": "farfield", "curve_20": "farfield", "1": "farfield", "4": "farfield", "5": "farfield", "2": "body", "3": "body"}
    case("gmsh_joukowski_euler_m05", "gmsh_joukowski.msh", 0.5, sides, exact="cl 0, cd 0")
    case("gmsh_joukowski_lam_re1000", "gmsh_joukowski.msh", 0.5, sides, re=1000, exact="cl 0")
    case("gmsh_joukowski_sa_m05", "gmsh_joukowski.msh", 0.5, sides, 3, 1e6, model="sa-neg")
    stream = {"INLET": "farfield", "OUTLET": "farfield", "TOP": "symmetry", "BOTTOM": "symmetry", "CYLINDER": "body"}
    case("gmsh_cylinder_re40", "gmsh_cylinder.msh", 0.1, stream, re=40, length=2.0, area=2.0)


def put(clone, path, place):
    """A file or folder of a clone, or a mesh of its geometry."""
    if (clone / path).is_dir():
        shutil.copytree(clone / path, place / "polyMesh")
    elif not path.endswith(".geo"):
        shutil.copyfile(clone / path, place)
    else:
        words = ["import gmsh, sys", "gmsh.initialize(); gmsh.open(sys.argv[1])", "gmsh.model.mesh.generate(2); gmsh.write(sys.argv[2])"]
        subprocess.run(["python3", "-c", "\n".join(words), str(clone / path), str(place)], check=True, capture_output=True)


def prepared(folder):
    """Meshes from the clones; the cases of what is nowhere are left out."""
    (folder / "m").mkdir(exist_ok=True)
    for mesh, (repository, path) in MESHES.items():
        place, clone = folder / "m" / mesh, folder / "repositories" / repository
        if place.exists():
            continue
        try:
            put(clone, path, place)
        except (OSError, subprocess.CalledProcessError) as why:
            gone = [name for name, text in survey.CASES.items() if f"m/{mesh}\"" in text]
            print(f"{mesh} is left out, {path} of github.com/{repository}: {type(why).__name__}; {len(gone)} cases with it")
            for name in gone:
                del survey.CASES[name]


if __name__ == "__main__":
    survey.CASES.clear()
    EXACT.clear()
    cases()
    survey.main(__doc__, prepared, EXACT)
