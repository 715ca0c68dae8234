"""Nobody waits for a kernel that `weir.warm_up` could have compiled before."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import weir.allocation
import weir.clustering
import weir.correlation
import weir.optimizers
import weir.placement
import weir.queueing
import weir.records

ROOMS = (
    weir.allocation,
    weir.clustering,
    weir.correlation,
    weir.optimizers,
    weir.placement,
    weir.queueing,
    weir.records,
)
FOLDERS = [Path(room.__file__).parent for room in ROOMS]

MARKS = ("compiled", "compiled_inside")

# Runs as plain Python, where a profiler sees every kernel that is called.
SEEN = """
import json, sys
from weir.warm_up import (
    warm_up_correlations,
    warm_up_mappings,
    warm_up_optimizers,
    warm_up_placements,
    warm_up_records,
)
called = set()
def look(frame, event, argument):
    if event == "call":
        called.add((frame.f_code.co_filename, frame.f_code.co_name))
sys.setprofile(look)
warm_up_optimizers()
warm_up_placements()
warm_up_correlations()
warm_up_mappings()
warm_up_records()
sys.setprofile(None)
print(json.dumps(sorted(called)))
"""


def kernels() -> dict[tuple[str, str], set[str]]:
    """File and name of every function that is compiled, with the names that it uses."""
    return {
        (str(path), function.name): {
            node.id for node in ast.walk(function) if isinstance(node, ast.Name)
        }
        for folder in FOLDERS
        for path in folder.rglob("*.py")
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef)
        and any(getattr(mark, "id", "") in MARKS for mark in function.decorator_list)
    }


def test_every_kernel_is_reached() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SEEN],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    called = {tuple(pair) for pair in json.loads(done.stdout)}
    known = kernels()
    assert len(known) > 50
    # With a kernel numba compiles all that it may call, also on branches that were not taken.
    compiled_with_another = set().union(*known.values())
    missing = {place for place in known if place[1] not in compiled_with_another} - called
    assert sorted(missing) == []
