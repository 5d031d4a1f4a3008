#!/usr/bin/env bash
# The set-up of a large mesh by two programs in turn: from the file to where the march begins, stage by stage.
#
#   bench/setup.sh BEFORE AFTER MESH [THREADS] [ROUNDS] [REFINEMENTS]
#
# BEFORE and AFTER are `chromaflow` programs, MESH the ONERA M6 of 100k nodes (mesh3d/oneram6_sharpTE_gmsh_100k.su2.xz), which is refined twice: 6,191,003
# nodes. Prints the stages of each run (seconds, from `time.setup_s`), wall, user and system seconds of all of it, and whether both
# take the same steps.
set -euo pipefail

before=$(realpath "$1") after=$(realpath "$2") mesh=$(realpath "$3")
threads=${4:-16} rounds=${5:-3} refinements=${6:-2}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

echo "machine: $(nproc) threads, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), kernel $(uname -r)"
echo "large pages: $(cat /sys/kernel/mm/transparent_hugepage/enabled 2> /dev/null || echo unknown)"
free -g 2> /dev/null | sed -n 2p || true

fine=$mesh
for k in $(seq "$refinements"); do
    "$after" mesh refine "$fine" "fine$k.lb8.ugrid"
    fine=$work/fine$k.lb8.ugrid
done
cat > case.toml << CASE
[mesh]
file = "$fine"
[flow]
mach = 0.84
alpha = 3.06
[boundary]
wing = "slip_wall"
symmetry = "symmetry"
farfield = "farfield"
[march]
iterations = 1
[output]
volume = false
CASE
cat "$fine" > /dev/null # into the system's cache

TIMEFORMAT='    wall %R, user %U, system %S'
for round in $(seq "$rounds"); do
    for of in before after; do
        echo "round $round, $of:"
        time "${!of}" run case.toml --threads "$threads" --out "$of" --json "$of.json" > "$of.log" 2>&1 || true
        tr -d '\n' < "$of.json" | grep -o '"setup_s": *{[^}]*}' | tr -s ' ' || tail -3 "$of.log"
        tr -d '\n' < "$of.json" | grep -o '"peak_bytes": *[0-9]*' || true
    done
    # All but the seconds.
    cmp <(cut -d, -f1-12 before/history.csv) <(cut -d, -f1-12 after/history.csv) && echo "the same history"
done
