"""Read back the problems of allocations: frozen models as plain data, and less what was pruned."""

import json
from typing import Any

from django.db.models.functions import Length

from apps.runs.models import Run, RunResult, Snapshot
from weir.allocation.pruning import as_routed
from weir.codec import problem_from_json
from weir.model import Problem

LARGEST_BYTES = 50_000_000
"""The size of about 300,000 classes: reading more would take seconds."""


def snapshot_plain(run: Run) -> dict[str, Any] | None:
    """Return the problem that the run saw (docs/formats.md); None where it is too large to read."""
    size = (
        Snapshot.objects.annotate(size=Length("payload"))
        .values_list("size", flat=True)
        .get(pk=run.snapshot_id)
    )
    if size > LARGEST_BYTES:
        return None
    payload = Snapshot.objects.values_list("payload", flat=True).get(pk=run.snapshot_id)
    plain: dict[str, Any] = json.loads(bytes(payload))
    return plain


def routed_problem(run: Run) -> Problem:
    """Return the snapshot without the costs of flows at nodes that they no longer go to."""
    problem = problem_from_json(bytes(run.snapshot.payload))
    if not run.parameters.get("prune"):
        return problem
    stored = RunResult.objects.filter(run=run).values_list("payload", flat=True).first()
    pruned = json.loads(bytes(stored)).get("pruned", {}) if stored is not None else {}
    return as_routed(problem, {flow: tuple(nodes) for flow, nodes in pruned.items()})
