#!/usr/bin/env bash
# What `cargo xtask bundle` puts beside its programs; to be run on a machine with an NVIDIA GPU, its driver and NVRTC:
#
#   bash on-gpu.sh [doctor] [kernels] [tests] [sanitizer] [bench]      all of them unless named
#
# Tests are all those whose names contain `cuda` or `gpu`; the sanitizer's, those that contain `small` besides. ONLY=word
# narrows both to names that contain it. Results go to the folder $OUT (./results); the last lines say what failed.
set -u
cd "$(dirname "$0")"
find . -name '*.gz' -exec gunzip -f {} +
out=${OUT:-$PWD/results}
mkdir -p "$out"
export LD_LIBRARY_PATH=/usr/local/cuda/lib64:${LD_LIBRARY_PATH:-} PATH=$PATH:/usr/local/cuda/bin
export CHROMAFLOW_CACHE=${CHROMAFLOW_CACHE:-/tmp/chromaflow-kernels} CHROMAFLOW_DATA=$PWD/data
export CHROMAFLOW_REQUIRE=gpu # a GPU test that cannot run is a failure
start=$(date +%s)
failed=()

# step NAME SECONDS COMMAND...: its output in $out/NAME.txt, one line here.
step() {
  local name=$1 limit=$2 code=0
  shift 2
  timeout "$limit" "$@" >"$out/$name.txt" 2>&1 || code=$?
  [ "$code" = 0 ] || failed+=("$name")
  echo "$(($(date +%s) - start)) s  $name: $([ "$code" = 0 ] && echo good || echo "FAILED ($code)")  $(tail -n 1 "$out/$name.txt" | cut -c1-160)"
  if [ "$code" != 0 ]; then
    grep -aE "panicked|FAILED|error|expected|Error" -A 2 "$out/$name.txt" | cut -c1-300 | head -n 12
  fi
}
wanted() { [ ${#what[@]} = 0 ] || [[ " ${what[*]} " == *" $1 "* ]]; }
# The tests of a binary that need a GPU, and whose names contain all the words given.
names() {
  local list
  list=$("$1" --list cuda gpu 2>/dev/null | sed -n 's/: test$//p' | grep -F -- "${ONLY:-}")
  for word in "${@:2}"; do list=$(grep -F -- "$word" <<<"$list"); done
  echo "$list"
}
what=("$@")

wanted doctor && step doctor 60 ./chromaflow --backend cuda doctor
# All kernels at once, on all cores: tests and benchmarks then find them.
wanted kernels && step kernels 200 ./chromaflow-kernels --arch "${ARCH:-sm_90}" --nb 1-64 --store
for test in tests/*; do
  short=$(basename "$test" | sed 's/-[0-9a-f]*$//')
  mapfile -t all < <(names "$test")
  mapfile -t small < <(names "$test" small)
  [ -n "${all[0]:-}" ] && wanted tests && step "test-$short" 240 "$test" --exact "${all[@]}" --test-threads 4
  if [ -n "${small[0]:-}" ] && wanted sanitizer; then
    # A call that fails ends the count of a kernel's arguments: no error.
    for tool in "memcheck --report-api-errors no" racecheck; do
      # Under racecheck kernels run one after the other: those that wait for one another would wait for ever.
      [ "$tool" = racecheck ] && mapfile -t small < <(printf '%s\n' "${small[@]}" | grep -v exchange)
      step "${tool%% *}-$short" 120 compute-sanitizer --tool $tool --error-exitcode 9 "$test" --exact "${small[@]}" --test-threads 1
    done
  fi
done
if wanted bench; then
  step bench-multicolor 170 ./chromaflow-papers multicolor --table 3 --table 4 --figure 14 --repeats 5 \
    --json "$out/multicolor.json" --markdown "$out/multicolor.md"
fi
echo "failed: ${failed[*]:-nothing}"
[ ${#failed[@]} = 0 ]
