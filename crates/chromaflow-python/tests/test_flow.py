"""Runs of the flow solver: what comes back, what ends them, what refuses."""

import os
import shutil
import signal
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import chromaflow
from chromaflow import flow

pytestmark = pytest.mark.skipif(
    not (os.environ.get("CHROMAFLOW_PROGRAM") or shutil.which("chromaflow")), reason="the command chromaflow is not here"
)
CASES = Path(__file__).parents[3] / "cases"


def wing(**march):
    return {
        "case": {"title": "The wing \"in\" a dict"},
        "flow": {"mach": 0.84, "alpha": 3.06},
        "mesh": {"file": CASES / "meshes" / "wing.su2.xz"},
        "reference": {"area": 1.1529, "length": 0.8017},
        "boundary": {"wing": "slip_wall", "symmetry": "symmetry", "farfield": "farfield"},
        "march": {"iterations": 4, **march},
        "output": {"plots": False, "cuts": [{"axis": "y", "at": 0.65}]},
    }


def test_a_case_from_a_dict_and_what_it_gives(tmp_path):
    rows = []
    result = chromaflow.Case(wing()).run(tmp_path, threads=1, callback=rows.append)
    assert result.outcome == "iteration_limit" and not result.converged
    assert [row["iteration"] for row in rows] == [1, 2, 3, 4]
    assert np.array_equal(result.history["residual_density"], [row["residual_density"] for row in rows])
    assert result.forces["cl"] == pytest.approx(result.history["cl"][-1], abs=1e-2)
    nodes = result.summary["mesh"]["nodes"]
    assert result.fields["points"].shape == (nodes, 3) and result.fields["velocity"].shape == (nodes, 3)
    assert np.array_equal(result.fields["points"], result.state["coordinates"])
    density = result.state["conserved"][:, 0]
    assert np.allclose(result.fields["density"], density, rtol=1e-6) and density.min() > 0.5
    assert {"cp", "points"} <= set(result.surface) and len(result.surface["points"]) < nodes
    assert "iteration_limit after 4 iterations" in repr(result)
    # On from there, and from its state alone.
    more = chromaflow.Case(wing(iterations=6)).run(threads=1, restart=result)
    assert list(more.history["iteration"]) == [5, 6]
    anew = chromaflow.Case(wing(iterations=1)).run(threads=1, restart=result, anew=True)
    assert list(anew.history["iteration"]) == [1]
    folder = anew.folder
    del anew
    assert not folder.exists()


def test_a_case_from_a_file(tmp_path):
    case = chromaflow.Case(CASES / "wing.toml")
    if sys.version_info >= (3, 11):
        assert case["flow.mach"] == 0.84 and case["boundary.wing"] == "slip_wall"
        with pytest.raises(KeyError, match="flow.match"):
            case["flow.match"]
    case["march.iterations"] = 2
    case["output.plots"] = False
    case["output.compress"] = False
    result = case.run(tmp_path / "plain", threads=1)
    assert result.summary["iterations"] == 2 and result.summary["conditions"]["alpha"] == 3.06
    case["output.compress"] = True
    packed = case.run(tmp_path / "packed", threads=1)
    for name, field in result.fields.items():
        assert np.array_equal(field, packed.fields[name]), name


def test_callbacks_end_runs(tmp_path):
    result = chromaflow.Case(wing(iterations=5000, residual_drop=30.0)).run(
        tmp_path / "false", threads=1, callback=lambda row: row["iteration"] < 3
    )
    assert result.summary["interrupted"] and 3 <= result.summary["iterations"] < 5000

    def broken(row):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        chromaflow.Case(wing(iterations=5000, residual_drop=30.0)).run(tmp_path / "raised", threads=1, callback=broken)
    assert flow.read_restart(tmp_path / "raised" / "restart.safetensors")["conserved"].shape[1] == 5


def test_ctrl_c_ends_a_run_with_its_files_written(tmp_path):
    timer = threading.Timer(4.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        chromaflow.Case(wing(iterations=100000, residual_drop=30.0)).run(tmp_path, threads=1)
    timer.join()
    assert len(chromaflow.Result(tmp_path).history["iteration"]) > 0


def test_misuse(tmp_path):
    with pytest.raises(chromaflow.CaseError, match="no case file"):
        chromaflow.Case(tmp_path / "none.toml")
    with pytest.raises(chromaflow.CaseError, match="did you mean `iterations`"):
        case = chromaflow.Case(wing())
        case["march.iteration"] = 4
        case.run(tmp_path, threads=1)
    with pytest.raises(chromaflow.CaseError, match="expected section.key"):
        case["mach"] = 0.5
    with pytest.raises(chromaflow.CaseError, match="nothing that a case file holds"):
        chromaflow.Case({"flow": {"mach": object()}}).run(tmp_path)
    with pytest.raises(chromaflow.CaseError, match="no_such_mesh"):
        chromaflow.Case({"mesh": {"file": "no_such_mesh.su2"}}).run(tmp_path)
