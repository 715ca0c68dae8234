"""Studies, led to their states by the services, without Spark."""

from typing import Any

from apps.accounts.models import User
from apps.runs.models import Run
from apps.runs.services.computations import run_store
from apps.studies.models import Study
from apps.studies.services import study_start
from apps.systems.models import System
from spark_tasks.jobs.sweep import answer_of, solve_share
from spark_tasks.order import JobOrder
from tests.factories.runs import claim

QUICK = [{"method": "lrgp", "parameters": {"max_iterations": 15}}]


def sweep_spec(node: str, count: int = 3, **more: Any) -> dict[str, Any]:
    """A node's capacity from half to one and a half times."""
    axis = {
        "label": f"Capacity of {node}",
        "edit": {"kind": "node_capacity", "nodes": [node]},
        "field": "scale",
        "values": {"from": 0.5, "to": 1.5, "count": count},
    }
    return {"kind": "sweep", "methods": QUICK, "axes": [axis], **more}


def make_study(system: System, spec: Any, actor: User | None = None, **values: Any) -> Study:
    """A study whose run is queued."""
    return study_start(system=system, actor=actor, spec=spec, **values)


def held(study: Study) -> Run:
    """The study's run as the worker holds it that has just taken it."""
    return claim(study.run)


def rows_of(run: Run) -> list[dict[str, Any]]:
    """What the Spark job would find."""
    order = JobOrder(parameters=run.parameters)
    rows, error = solve_share(bytes(run.snapshot.payload), order, 0, 1)
    assert rows is not None, error
    return rows


def finish(study: Study) -> Study:
    """The study with all its points."""
    run = held(study)
    run_store(run, answer_of(rows_of(run)))
    return Study.objects.get(pk=study.pk)
