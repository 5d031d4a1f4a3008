#!/usr/bin/env bash
# The tables of scaling-h200.md again, on 1, 2, 4, 8 GPUs of this machine:
#
#   bash bench/scaling.sh FOLDER [strong|small|newton|big|weak|sweeps|sizes|ways|half|rans ...]      all of them unless named
#
# PROGRAM is the command (target/release/chromaflow). Tables go to FOLDER/NAME.md, all that was measured to FOLDER/NAME.json, which
# predicted.py reads. Meshes of the data set are found as the cases say; cubes are made in FOLDER.
set -eu
out=$(mkdir -p "$1" && cd "$1" && pwd)
shift
cd "$(dirname "$0")/.."
program=${PROGRAM:-target/release/chromaflow}
there=$(nvidia-smi -L | wc -l) gpus=1
for n in 2 4 8; do if [ "$n" -le "$there" ]; then gpus=$gpus,$n; fi; done
wing=cases/oneram6_100k.toml plain="--set march.nonlinear=defect_correction" fine="--set mesh.refine=1"

bench() {
  local name=$1
  shift
  echo "$name: chromaflow bench scaling $* --gpus $gpus"
  "$program" bench scaling "$@" --gpus "$gpus" --table "$out/$name.md" --json "$out/$name.json" >/dev/null
}

# A cube of tetrahedra with so many cells along each edge, and flow along a wall of it.
cube() {
  local mesh=$out/cube_$1.b8.ugrid
  [ -f "$mesh" ] || "$program" mesh generate box-tets --cells "$1,$1,$1" "$mesh" --quiet
  cat >"$out/cube_$1.toml" <<CASE
[mesh]
file = "$mesh"
[flow]
mach = 0.5
alpha = 3.0
[boundary]
zmin = "slip_wall"
zmax = "farfield"
xmin = "farfield"
xmax = "farfield"
ymin = "slip_wall"
ymax = "slip_wall"
CASE
}

[ $# -gt 0 ] || set -- strong small newton big weak sweeps sizes ways half rans
for what in "$@"; do
  # shellcheck disable=SC2086 # settings are words
  case $what in
    strong) bench strong $wing --exchange color,solve $fine $plain --iterations 40 ;;
    small) bench small $wing --exchange color,solve $plain --iterations 60 ;;
    newton) bench newton $wing $fine --iterations 20 ;;
    big) bench big $wing --set mesh.refine=2 $plain --iterations 20 ;;
    weak)
      cases=()
      for pair in 1:92 2:116 4:146 8:185; do
        if [[ ,$gpus, == *,${pair%:*},* ]]; then
          cube "${pair#*:}"
          cases+=("$out/cube_${pair#*:}.toml")
        fi
      done
      bench weak "${cases[@]}" --weak --exchange color,solve $plain --iterations 20
      ;;
    sweeps)
      for cells in 99 158; do
        cube $cells
        bench sweeps_$cells "$out/cube_$cells.toml" --alone 60 $plain --iterations 20
      done
      ;;
    sizes) # the model's curves of few rows
      for cells in 17 23 29 37 46 58 73 92; do
        cube $cells
        gpus=1 bench size_$cells "$out/cube_$cells.toml" $plain --iterations 40
      done
      ;;
    ways)
      bench late $wing --exchange late,sweep $fine $plain --iterations 40
      bench ways $wing --halo posted,nccl,staged $fine $plain --iterations 20
      bench nccl $wing --halo nccl --exchange late,sweep $fine $plain --iterations 40
      ;;
    half) bench half $wing --policy dsh $fine $plain --iterations 40 ;;
    rans) bench rans cases/oneram6_rans.toml $fine --iterations 10 --warmup 3 ;;
    *) echo "$what: no such table" && exit 2 ;;
  esac
done
