#!/usr/bin/env python3
"""A survey of geometries, flows and kinds of mesh with default settings: 93 cases on 46 meshes, and a table of what became of them.

    python3 meshes.py FOLDER/m          # once, a minute: pip install gmsh numpy
    python3 survey.py FOLDER [--program chromaflow] [--jobs 16] [--backend cuda] [--only WORD] [KEY=VALUE...]

It is for looking, not for passing: nothing was tuned on these meshes, and some of the flows may have no steady state.
"""

import argparse
import json
import math
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CASES = {}


def isentropic(mach):
    t = 1 + 0.2 * mach**2
    return t**3.5, t


def total(mach, direction=None):
    p, t = isentropic(mach)
    tail = f", direction = {list(direction)}" if direction else ""
    return f'{{ kind = "inlet", total_pressure = {p:.6f}, total_temperature = {t:.6f}{tail} }}'


def back(pressure=1.0):
    return f'{{ kind = "outlet", pressure = {pressure:.6f} }}'


def blown(velocity):
    return f'{{ kind = "velocity_inlet", velocity = [{velocity}, 0.0, 0.0], temperature = 1.0 }}'


def case(name, mesh, mach, sides, alpha=0, re=None, length=None, model=None, area=None, ref=None, lift=None, about=""):
    kind = "rans" if model else "laminar" if re else "euler"
    t = [f'[case]\ntitle = "{name}"\ndescription = "{about or "Survey"}; default settings."']
    t.append(f'[mesh]\nfile = "m/{mesh}.msh"')
    flow = [f'[flow]\nequations = "{kind}"\nmach = {mach}\nalpha = {alpha}']
    if re:
        flow.append(f"reynolds = {re:g}")
    if length:
        flow.append(f"reynolds_length = {length}")
    t.append("\n".join(flow))
    if model:
        t.append(f'[turbulence]\nmodel = "{model}"')
    r = []
    if area:
        r.append(f"area = {area}")
    if ref:
        r.append(f"length = {ref}")
    if lift:
        r.append(f'lift_axis = "{lift}"')
    if r:
        t.append("[reference]\n" + "\n".join(r))
    wall = "no_slip" if re else "slip_wall"
    b = []
    for side, what in sides.items():
        what = wall if what == "body" else what
        b.append(f"{side} = {what}" if what.startswith("{") else f'{side} = "{what}"')
    t.append("[boundary]\n" + "\n".join(b))
    t.append("[march]\niterations = 400")
    t.append(f'[output]\nfolder = "out/{name}"')
    assert name not in CASES
    CASES[name] = "\n\n".join(t) + "\n"


FOIL = {"wall": "body", "far": "farfield"}
FLAP = {"main": "body", "flap": "body", "far": "farfield"}
HALF = {"wall": "body", "far": "farfield", "symmetry": "symmetry"}
BASE = {**HALF, "outlet": "extrapolation"}

# Airfoils.
case("flap_euler_m02", "flap", 0.2, FLAP, 4)
case("flap_euler_m045", "flap", 0.45, FLAP, 1)
case("flapv_sa_m02", "flapv", 0.2, FLAP, 4, 1e6, model="sa-neg")
case("flapv_sst_m02", "flapv", 0.2, FLAP, 4, 1e6, model="sst")
TWO = {"upper": "body", "lower": "body", "far": "farfield"}
case("biplane_euler_m01", "biplane", 0.1, TWO, 3)
case("biplane_euler_m07", "biplane", 0.7, TWO, 1)
case("n4412t_euler_m04", "n4412t", 0.4, FOIL, 2)
case("n4412t_sa_m02", "n4412t", 0.2, FOIL, 5, 1e6, model="sa-neg")
case("n4412t_sst_m02", "n4412t", 0.2, FOIL, 5, 1e6, model="sst")
case("n2412l_lam500", "n2412l", 0.3, FOIL, 2, 500)
case("n2412l_lam2000_m08", "n2412l", 0.8, FOIL, 0, 2000)
case("n65q_euler_m07", "n65q", 0.7, FOIL, 0)
case("n65q_sa_re1e5", "n65q", 0.3, FOIL, 1, 1e5, model="sa-neg")
case("n23012q_euler_m005", "n23012q", 0.05, FOIL, 3)
case("n23012q_sa_m03", "n23012q", 0.3, FOIL, 6, 3e6, model="sa-neg")
case("n23012q_sst_m015", "n23012q", 0.15, FOIL, 2, 2e6, model="sst")
case("n23012q_sa_m073", "n23012q", 0.73, FOIL, 1, 3e6, model="sa-neg", about="Transonic, moderate shock")
case("n0015all_euler_m005", "n0015all", 0.05, FOIL, 4)
case("n0015all_euler_m13", "n0015all", 1.3, FOIL, 2, about="Detached bow shock")
for m in (0.3, 0.6):
    case(
        f"tunnel_euler_m{str(m).replace('.', '')}",
        "tunnel",
        m,
        {"wall": "body", "floor": "slip_wall", "roof": "slip_wall", "inlet": total(m), "outlet": back()},
    )
case("ktq_euler_m06", "ktq", 0.6, FOIL, 1)
case("ktq_sa_m02", "ktq", 0.2, FOIL, 2, 1e6, model="sa-neg")
case("ktq_sst_m05", "ktq", 0.5, FOIL, 0, 1e6, model="sst")
case("ktt_euler_m08", "ktt", 0.8, FOIL, 0)
case("ktt_lam400", "ktt", 0.3, FOIL, 0, 400)

# Cascades: periodic sides by name.
ROW = {"blade": "body", "floor": '{ kind = "periodic", with = "roof" }', "roof": '{ kind = "periodic", with = "floor" }'}
p, _ = isentropic(0.37)
towards = (0.819152, 0.573576, 0.0)
for name, leaving in [("turbine_m08", 0.8), ("turbine_m11", 1.1)]:
    sides = {**ROW, "inlet": total(0.37, towards), "outlet": back(p / isentropic(leaving)[0])}
    case(name, "turbine", 0.37, sides, 35, about=f"Leaves at M {leaving}")
for model in ("sa-neg", "sst"):
    sides = {**ROW, "inlet": total(0.4, (0.707107, 0.707107, 0.0)), "outlet": back(1.035)}
    case(f"compressor_{model[:3].strip('-')}", "compressor", 0.4, sides, 45, 5e5, model=model)

# Channels. Area 1 : 0.6 : 0.85; M 0.38 before, 1.76 behind where choked.
p, _ = isentropic(0.38)
HALFNOZZLE = {"wall": "body", "symmetry": "symmetry", "inlet": total(0.38)}
case("nozzle_sub", "nozzle", 0.24, {**HALFNOZZLE, "inlet": total(0.24), "outlet": back(0.99)}, about="Throat at about M 0.45")
case("nozzle_shock", "nozzle", 0.38, {**HALFNOZZLE, "outlet": back(0.75 * p)}, about="Shock behind the throat")
case("nozzle_choked", "nozzle", 0.38, {**HALFNOZZLE, "outlet": "extrapolation"}, about="Leaves at M 1.76")
case("nozzlet_shock", "nozzlet", 0.38, {"wall": "body", "inlet": total(0.38), "outlet": back(0.75 * p)})
case(
    "nozzlet_choked",
    "nozzlet",
    0.38,
    {"wall": "body", "inlet": total(0.38), "outlet": back(0.15 * p)},
    about="Supersonic through a pressure outlet",
)
case("nozzle3_choked", "nozzle3", 0.38, {**HALFNOZZLE, "outlet": back(0.15 * p)})
for m in (2.5, 3.5):
    sides = {
        "symmetry": "symmetry",
        "ramp": "body",
        "cowl": "body",
        "duct_exit": "extrapolation",
        "outlet": "extrapolation",
        "far": "farfield",
        "inlet": "farfield",
    }
    case(f"intake_m{int(10 * m)}", "intake", m, sides)
CHANNEL = {"wall": "body", "top": "slip_wall"}
case("nibump_m0675", "nibump", 0.675, {**CHANNEL, "inlet": total(0.675), "outlet": back()})
case("nibump_m002", "nibump", 0.02, {**CHANNEL, "inlet": total(0.02), "outlet": back()})
case("bump4t_m14", "bump4t", 1.4, {**CHANNEL, "inlet": "farfield", "outlet": "extrapolation"})
case("pyramids_m05", "pyramids", 0.5, {**CHANNEL, "symmetry": "symmetry", "inlet": total(0.5), "outlet": back()}, area=0.8)
case(
    "pyramids_m16",
    "pyramids",
    1.6,
    {**CHANNEL, "symmetry": "symmetry", "inlet": "farfield", "outlet": "extrapolation"},
    area=0.8,
    about="Eight percent: the bow shock may be detached",
)
DUCT = {"wall": "body", "outlet": back()}
case("bfs_lam150", "bfs", 0.2, {**DUCT, "inlet": blown(0.2)}, re=150)
case("groove_lam400", "groove", 0.2, {**DUCT, "top": "symmetry", "inlet": total(0.2)}, re=400)
case("bend2_lam300", "bend2", 0.2, {**DUCT, "inlet": blown(0.2)}, re=300)
case("bend2_sa", "bend2", 0.2, {**DUCT, "inlet": total(0.2)}, re=1e5, model="sa-neg")
case("bend2_sst", "bend2", 0.3, {**DUCT, "inlet": total(0.3)}, re=1e5, model="sst")
SUPER = {"wall": "body", "symmetry": "symmetry", "top": "farfield", "inlet": "farfield", "outlet": "extrapolation"}
case("ramp_lam_m29", "ramp", 2.9, SUPER, re=3e4)
case("ramp_sa_m29", "ramp", 2.9, SUPER, re=1e6, model="sa-neg")
case("ramp_sst_m2", "ramp", 2.0, SUPER, re=1e6, model="sst")
PLATE = {"wall": "body", "symmetry": "symmetry", "top": "farfield", "outlet": back()}
case("platet_lam_m05", "platet", 0.5, {**PLATE, "inlet": total(0.5)}, re=1e5)
case("platet_sa_m02", "platet", 0.2, {**PLATE, "inlet": total(0.2)}, re=2e6, model="sa-neg", area=2.0)
case("platet_sst_m02", "platet", 0.2, {**PLATE, "inlet": total(0.2)}, re=1e6, model="sst", area=2.0)

# Bodies.
case("cylinders_lam20", "cylinders", 0.15, FOIL, 0, 20)
case("diamond_m15", "diamond", 1.5, FOIL, 2)
case("diamond_m4", "diamond", 4, FOIL, 3)
case("ellipse_euler_m05", "ellipse", 0.5, FOIL, 2, about="Lift is what the scheme makes it: round ends")
case("ellipse_lam200", "ellipse", 0.2, FOIL, 0, 200)
NOSE = {"wall": "body", "far": "farfield", "symmetry": "symmetry", "outlet": "extrapolation"}
case("bluntq_m4", "bluntq", 4, NOSE)
case("bluntq_m8", "bluntq", 8, NOSE)
case("bluntt_m5", "bluntt", 5, NOSE)
case("bluntv_euler_m6", "bluntv", 6, NOSE, about="Euler on cells made for a boundary layer")
case("bluntv_lam_m6", "bluntv", 6, {**NOSE, "wall": '{ kind = "no_slip", temperature = 2.0 }'}, re=1e4)
case("bluntv_sa_m5", "bluntv", 5, {**NOSE, "wall": '{ kind = "no_slip", temperature = 3.0 }'}, re=1e6, model="sa-neg")

# In space.
case("rectwing_m03", "rectwing", 0.3, HALF, 4, area=2.5)
case("rectwing_m08", "rectwing", 0.8, HALF, 2, area=2.5)
case("sweptwing_m086", "sweptwing", 0.86, HALF, 3, area=1.1)
case("sweptwing_m13", "sweptwing", 1.3, HALF, 3, area=1.1)
case("wingbody_m05", "wingbody", 0.5, HALF, 3, area=1.2)
case("wingbody_m09", "wingbody", 0.9, HALF, 2, area=1.2)
BOX = {"wall": "body", "symmetry": "symmetry", "roof": "slip_wall", "side": "slip_wall", "inlet": total(0.1), "outlet": back()}
case(
    "ahmed_euler_m01",
    "ahmed",
    0.1,
    {**BOX, "ground": "slip_wall"},
    area=0.056,
    about="Sharp rear edges: a steady inviscid wake is doubtful",
)
case(
    "ahmed_lam200",
    "ahmed",
    0.1,
    {**BOX, "ground": '{ kind = "moving_wall", velocity = [0.1, 0.0, 0.0] }'},
    re=200,
    length=0.288,
    area=0.056,
)
case("cone_m2", "cone", 2, BASE, 5)
case("cone_m5", "cone", 5, BASE, 8)
case("capsule_m2", "capsule", 2, BASE, 0, area=0.39)
case("capsule_m6", "capsule", 6, BASE, 10, area=0.39, about="Near vacuum behind the shoulder")
case("spheret_m005", "spheret", 0.05, HALF, area=0.39)
case("spheret_lam100", "spheret", 0.1, HALF, re=100, area=0.39)
case("cubed_euler_m03", "cubed", 0.3, FOIL, area=0.785)
case("cubed_lam100", "cubed", 0.2, FOIL, re=100, area=0.785)
case("venturi_lam200", "venturi", 0.2, {**DUCT, "inlet": blown(0.2)}, re=200)
case("venturi_sa", "venturi", 0.2, {**DUCT, "inlet": total(0.2)}, re=1e5, model="sa-neg")
case("pipebend_euler_m03", "pipebend", 0.3, {**DUCT, "inlet": total(0.3)})
case("pipebend_lam200", "pipebend", 0.1, {**DUCT, "inlet": blown(0.1)}, re=200)
case("extrq_sa_m03", "extrq", 0.3, {**FOIL, "left": "symmetry", "right": "symmetry"}, 3, 1e6, model="sa-neg", area=0.1)
case("extrq_sst_m02", "extrq", 0.2, {**FOIL, "left": "symmetry", "right": "symmetry"}, 3, 1e6, model="sst", area=0.1)
case("extrt_m08", "extrt", 0.8, {**FOIL, "front": "symmetry", "back": "symmetry"}, 1, area=0.5, lift="y")
case("corner_m3", "corner", 3, {"wall": "body", "far": "farfield", "inlet": "farfield", "outlet": "extrapolation"})
case("spheroid_euler_m09", "spheroid", 0.9, FOIL, 5, area=0.63)
case("spheroid_lam1000", "spheroid", 0.3, FOIL, 3, 1000, 4.0, area=0.63)
case("spheroidv_sa_m03", "spheroidv", 0.3, FOIL, 3, 2e6, 4.0, model="sa-neg", area=0.785)
case("spheroidv_sst_m07", "spheroidv", 0.7, FOIL, 0, 2e6, 4.0, model="sst", area=0.785)


def run(args, name):
    """Outcome, iterations, orders, seconds, lift and drag of a case."""
    with tempfile.TemporaryDirectory() as out:
        words = [args.program, "run", args.folder / f"{name}.toml", "--out", out, "--threads", 1, "--quiet", "--json", f"{out}/told.json"]
        words += ["--backend", args.backend] + [word for key in args.set for word in ("--set", key)]
        try:
            subprocess.run([str(word) for word in words], capture_output=True, timeout=args.limit)
            told = json.loads(Path(out, "told.json").read_text())
        except (subprocess.TimeoutExpired, FileNotFoundError) as why:
            return name, type(why).__name__, 0, 0.0, args.limit, 0.0, 0.0
    forces = {name: math.nan if value is None else value for name, value in told["forces"].items() if name in ("cl", "cd")}
    outcome = told["outcome"] + (", damped" if told["damped"] else "")
    return name, outcome, told["iterations"], told["residual_orders"], told["time"]["total_s"], forces["cl"], forces["cd"]


def main(about=__doc__, prepare=lambda folder: None, exact=None):
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the cases are written, and the meshes are, in m")
    parser.add_argument("set", nargs="*", metavar="KEY=VALUE")
    parser.add_argument("--program", help="runs them; without it they are written alone")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--only", default="")
    parser.add_argument("--limit", type=float, default=600, help="seconds of a case")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    prepare(args.folder)
    for name, text in CASES.items():
        (args.folder / f"{name}.toml").write_text(text)
    if not args.program:
        return
    names = [name for name in CASES if args.only in name]
    with ThreadPoolExecutor(args.jobs) as pool:
        for name, outcome, iterations, orders, seconds, cl, cd in pool.map(lambda name: run(args, name), names):
            print(f"{name:22} {outcome:22} {iterations:5} {orders:6.1f} {seconds:7.1f} s {cl:12.7f} {cd:12.7f}  {(exact or {}).get(name, '')}".rstrip(), flush=True)


if __name__ == "__main__":
    main()
