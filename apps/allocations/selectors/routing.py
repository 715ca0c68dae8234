"""Rebuild the problem of an allocation's loads: its snapshot, less what pruning left out."""

import json

from apps.runs.models import Run, RunResult
from weir.allocation.pruning import as_routed
from weir.codec import problem_from_json
from weir.model import Problem


def routed_problem(run: Run) -> Problem:
    """Return the snapshot without the costs of flows at nodes that they no longer go to."""
    problem = problem_from_json(bytes(run.snapshot.payload))
    if not run.parameters.get("prune"):
        return problem
    stored = RunResult.objects.filter(run=run).values_list("payload", flat=True).first()
    pruned = json.loads(bytes(stored)).get("pruned", {}) if stored is not None else {}
    return as_routed(problem, {flow: tuple(nodes) for flow, nodes in pruned.items()})
