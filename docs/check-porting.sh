#!/bin/sh
# Builds and runs the programs of docs/src/porting.md against an installed library: docs/check-porting.sh PREFIX
set -eu
prefix=$1
page=$(dirname "$0")/src/porting.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Every fenced block of C or Fortran, in the order of the page.
awk -v work="$work" '/^```(c|fortran)$/ { n++; file = work "/" n (substr($0, 4) == "c" ? ".c" : ".f90"); next }
                     /^```/ { file = ""; next } file != "" { print > file }' "$page"
libs="-L$prefix/lib -lchromaflow -Wl,-rpath,$prefix/lib"
for source in "$work"/*.c "$work"/*.f90; do
  case $source in
    *.c) cc -std=c99 -Wall -Wextra -Werror -pedantic -O2 "$source" -I"$prefix/include" -o "$work/program" $libs ;;
    *) gfortran -std=f2018 -Wall -O2 -J"$work" "$prefix/include/chromaflow.f90" "$source" -o "$work/program" $libs ;;
  esac
  echo "$(basename "$source"):"
  "$work/program"
done
