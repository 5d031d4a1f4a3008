#!/usr/bin/env bash
# Block ILU + GMRES on the Jacobian of the ONERA M6 case, beside PETSc's (BAIJ, PCILU, KSPGMRES) and multicolor sweeps.
#   bench/ilu-peers/run.sh        from the repository's root, after cargo build --release
#   CHROMAFLOW_DATA=dir           where mesh3d/ is            CHROMAFLOW=path   the program, if not target/release/chromaflow
#   SYSTEM=file.petsc NB=5        another system              WORK=dir          where the system and the driver are built
# PETSc comes from a package, such as Debian's petsc-dev. Both programs run on one core, restart after 200 iterations and
# stop at ||b - A x|| <= 1e-10 ||b||; times are the least of three runs.
set -euo pipefail
export OPENBLAS_NUM_THREADS=1 # what spins beside the first would count as time of PETSc
here=$(cd "$(dirname "$0")" && pwd)
program=${CHROMAFLOW:-target/release/chromaflow}
work=${WORK:-target/ilu-peers}
system=${SYSTEM:-$work/system.petsc}
nb=${NB:-5}
mkdir -p "$work"
[ -f "$system" ] || "$program" run --quiet --threads 1 cases/oneram6_15k.toml --out "$work" \
  --set output.matrix=30 --set march.iterations=31 >"$work/run.log" 2>&1 || [ -f "$system" ]

echo "program        order       fill      policy  iterations  residual   factor s  solve s"
ours() { # order fill policy precond sweeps
  for run in 1 2 3; do
    "$program" --threads 1 solve "$system" --block-size "$nb" --method gmres --precond "$4" --order "$1" --fill "$2" --policy "$3" \
      --sweeps "$5" --restart 200 --longest-restart 200 --tol 1e-10 --json "$work/solve-$run.json" >/dev/null || true
  done
  python3 - "$work" "$@" <<'PY'
import json, sys
work, order, fill, policy, precond, sweeps = sys.argv[1:]
runs = [json.load(open(f"{work}/solve-{run}.json")) for run in (1, 2, 3)]
name = "chromaflow" if precond == "ilu0" else f"{sweeps} {precond}"
numeric, solve = (min(run["time"][key] for run in runs) for key in ("numeric_s", "solve_s"))
first = runs[0]
print(f"{name:14} {order:11} {fill:9} {policy:7} {first['iterations']:10}  {first['relative_residual']:.2e}  {numeric:8.3f}  {solve:7.3f}")
PY
}
for order in natural rcm multicolor; do
  for fill in diagonal 0 1 2; do ours $order $fill d ilu0 1; done
done
for policy in ds dsh; do ours rcm 0 $policy ilu0 1; done
for policy in d ds dsh; do ours multicolor 0 $policy multicolor 15; done

petsc=$(ls -d /usr/lib/petscdir/petsc*/*-real 2>/dev/null | head -1)
if [ -z "$petsc" ] || ! command -v mpicxx >/dev/null; then
  echo "PETSc is not there (on Debian: apt-get install petsc-dev)"
  exit 0
fi
mpicxx -O3 -march=native "$here/petsc_ksp.cpp" -o "$work/petsc_ksp" -I"$petsc/include" -L"$petsc/lib" -lpetsc_real
for order in natural rcm; do
  for level in 0 1 2; do
    "$work/petsc_ksp" "$system" "$nb" $order $level 200 1e-10 |
      awk '{ printf "%-14s %-11s %-9s %-7s %10d  %s  %8.3f  %7.3f\n", $1, $2, $3, "d", $4, $5, $6 / 1e3, $7 / 1e3 }'
  done
done
