"""Runs in every state, led there by the services, without Spark."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from apps.accounts.models import User
from apps.allocations.models import Allocation
from apps.allocations.services import allocation_request
from apps.runs.models import Run
from apps.runs.services import run_cancel, run_claim, run_fail
from apps.runs.services.computations import run_job_inputs, run_store
from apps.systems.models import System
from spark_tasks.jobs.solve import solve_payload
from spark_tasks.order import JobOrder
from weir.lifecycle.runs import RunState

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "lrgp" / "log-6-flows-3-nodes.json"
PUBLISHED_UTILITY = 1_328_821


def golden_problem() -> dict[str, Any]:
    """The paper's base workload as a file writes it."""
    problem: dict[str, Any] = json.loads(GOLDEN.read_bytes())
    return problem


def kernel_answer(run: Run) -> bytes:
    """What the Spark job would answer."""
    call = {
        "method": run.method,
        "parameters": run.parameters,
        "seed": run.seed,
        "inputs": dict(run_job_inputs(run)),
    }
    return _answer(bytes(run.snapshot.payload), json.dumps(call, sort_keys=True))


@cache
def _answer(payload: bytes, asked: str) -> bytes:
    """The kernel gives the same bytes for the same question, so each is asked once a session."""
    answer, error = solve_payload(payload, JobOrder(**json.loads(asked)))
    assert answer is not None, error
    return answer


def make_run(system: System, actor: User | None = None, **values: Any) -> Run:
    """A queued run."""
    return allocation_request(system=system, actor=actor, **values)


def claim(run: Run) -> Run:
    """The run as the worker holds it that has just taken it."""
    claimed = run_claim(run=run.public_id)
    assert claimed is not None
    return claimed


def make_allocation(system: System, **values: Any) -> Allocation:
    """A finished run's allocation."""
    run = claim(make_run(system, **values))
    run_store(run, kernel_answer(run))
    return Allocation.objects.get(run=run)


def make_run_in(state: RunState, system: System, actor: User) -> Run:
    """A run that stands in this state."""
    if state == RunState.SUCCEEDED:
        return make_allocation(system).run
    run = make_run(system)
    if state == RunState.CANCELLED:
        run_cancel(run=run, actor=actor)
    elif state == RunState.RUNNING:
        claim(run)
    elif state == RunState.FAILED:
        run_fail(run=claim(run), code="job_failed", reason="The job failed.")
    elif state == RunState.INFEASIBLE:
        held = claim(run)
        plain = json.loads(kernel_answer(held))
        plain |= {"status": "infeasible", "reason": "Nothing fits.", "rates": {}, "trace": []}
        plain |= {"populations": {}, "node_prices": {}, "link_prices": {}}
        run_store(held, json.dumps(plain).encode())
    run.refresh_from_db()
    assert run.state == state
    return run
