"""One attempt of an evaluation's run: what its job is told, and keeping what it answers."""

import json
from typing import Any

from django.db import transaction

from apps.common.events import publish
from apps.evaluations.models import Candidate, Evaluation
from apps.evaluations.selectors.problem import known_links
from apps.evaluations.services.store import candidate_values
from apps.runs.models import Run
from apps.runs.services import run_finish
from apps.runs.services.execute import run_execute
from apps.runs.services.gateway import JobFailed
from apps.topology.models import Overlay
from weir import __version__
from weir.codec.evaluation import evaluation_from_json
from weir.codec.evaluation_result import evaluation_result_from_dict
from weir.errors import WeirError
from weir.lifecycle.runs import ENDED

TASK = "overlays.evaluate"


def take_run(row: Evaluation, run: Run) -> None:
    """Let a locked evaluation begin again with this run; the candidates of the last one go."""
    Candidate.objects.filter(evaluation=row).delete()
    row.run, row.why = run, []
    row.save(update_fields=["run", "why", "updated_at"])


def evaluation_solve(*, run_id: int) -> None:
    """One attempt of an evaluation's run, on Spark."""
    run_execute(
        run_id=run_id, task=TASK, job="evaluate", store=evaluation_store, more=evaluation_told
    )


@transaction.atomic
def evaluation_told(run: Run) -> dict[str, Any]:
    """Nothing more than every job; but a run that somebody repeated finds its evaluation here."""
    if _of(run) is not None:
        return {}
    former = run.rerun_of
    while former is not None:
        row = _of(former)
        if row is not None and row.run.state in ENDED:
            take_run(row, run)
            return {}
        former = former.rerun_of
    raise JobFailed("This run's evaluation has a newer run. Start the evaluation from its page.")


def _of(run: Run) -> Evaluation | None:
    return (
        Evaluation.objects.select_for_update(of=("self",))
        .select_related("system", "run")
        .filter(run=run)
        .first()
    )


def _goals(evaluation: Evaluation) -> dict[str, int]:
    """Keys of the goal topologies that it compares, as far as they still exist."""
    rows = Overlay.objects.filter(system=evaluation.system, name__in=evaluation.goals)
    return dict(rows.values_list("name", "pk"))


@transaction.atomic
def evaluation_store(run: Run, answer: bytes) -> None:
    """Check that the answer belongs to the snapshot and that every plan is valid; keep it."""
    plain = json.loads(answer)
    problem_hash = plain.pop("problem_hash", None)
    version = plain.pop("kernel_version", __version__)
    if problem_hash != run.snapshot.content_hash:
        raise ValueError(f"{run}: answer to {problem_hash}, not {run.snapshot.content_hash}")
    evaluation = _of(run)
    if evaluation is None:
        raise WeirError(f"{run}: its evaluation was deleted while it ran")
    result = evaluation_result_from_dict(plain)
    problem = evaluation_from_json(bytes(run.snapshot.payload))
    values = candidate_values(
        problem,
        result,
        objective=evaluation.objective,
        goals=_goals(evaluation),
        measured_links=frozenset(known_links(evaluation.system)),
        subscribers=evaluation.subscribers,
    )
    run_finish(
        run=run,
        payload=answer,
        kernel_version=version,
        infeasible_because=None,
        progress={"done": len(result.rows), "total": len(result.rows)},
    )
    Candidate.objects.filter(evaluation=evaluation).delete()
    Candidate.objects.bulk_create(Candidate(evaluation=evaluation, **row) for row in values)
    evaluation.why = list(result.why)
    evaluation.save(update_fields=["why", "updated_at"])
    publish("overlay", id=evaluation.public_id, system=evaluation.system.public_id)
