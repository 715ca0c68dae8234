"""Define maps of flows as a kind of computation: what is frozen and stored."""

import json
from collections.abc import Mapping as Members
from typing import Any

from apps.accounts.models import User
from apps.common.computing import params_of
from apps.common.errors import Conflict
from apps.common.formatting import duration
from apps.mappings.domain.sentences import mapping_sentence
from apps.mappings.models import Mapping
from apps.mappings.selectors.measured import filtering_drift
from apps.mappings.selectors.problem import mapping_problem
from apps.mappings.services.propose import mapping_plan
from apps.mappings.services.store import store_row
from apps.plans.models import Plan
from apps.runs.models import Run
from apps.runs.selectors import Again, Answer, Computation, Question
from apps.systems.models import System
from weir import __version__
from weir.clustering import DEFAULT as DEFAULT_METHOD
from weir.clustering import clusterer, clusterers
from weir.clustering.joint import NAME as DRAWS_CURVES
from weir.codec.mapping import mapping_bytes, mapping_from_json

KIND = "mapping"


def freeze(
    system: System,
    *,
    method: str = DEFAULT_METHOD,
    parameters: Members[str, Any] | None = None,
    seed: int = 0,
    time_limit_s: float | None = None,
    note: str = "",
) -> Question:
    """Freeze flows, interests, streams, groups, pins and the map in force. Raises ApplicationError
    naming what of the request or of the model does not fit."""
    params_of(clusterer, method, parameters or {})
    return Question(
        payload=mapping_bytes(mapping_problem(system)),
        method=method,
        parameters=dict(parameters or {}),
        seed=seed,
        time_limit_s=time_limit_s,
        note=note,
    )


def job_inputs(run: Run, row: None) -> dict[str, Any]:
    """Return what the job computes beside the map: the flat one, and the curve of moves where a map
    is in force and the method draws one."""
    inputs = {"compare": True}
    if run.method == DRAWS_CURVES and "previous" in json.loads(bytes(run.snapshot.payload)):
        inputs["curve"] = True
    return inputs


def store(run: Run, row: None, answer: bytes) -> Answer:
    """Check that the answer belongs to the run's snapshot; store the map."""
    plain = json.loads(answer)
    problem = mapping_from_json(bytes(run.snapshot.payload))
    total = run.progress.get("total", 1)
    return Answer(
        payload=answer,
        kernel_version=__version__,
        progress={"done": total, "total": total},
        row=store_row(run, problem, plain),
    )


def describe(mapping: Mapping) -> str:
    """Describe the map in a sentence."""
    text = mapping_sentence(
        wanted_flows=mapping.wanted_flows,
        moved=mapping.moved,
        moved_streams=mapping.moved_streams,
        placed=mapping.outcome["points"][mapping.outcome["proposed"]]["placed"],
        cost=mapping.cost,
        kept_cost=mapping.kept_cost,
        random_cost=mapping.random_cost,
    )
    return f"{mapping} {text}"


def again(request: Again) -> dict[str, Any]:
    """Return what a schedule or trigger asks for."""
    return {
        "method": request.method or DEFAULT_METHOD,
        "time_limit_s": request.time_limit_s,
        "note": request.note,
    }


def plan(
    mapping: Mapping,
    *,
    actor: User | None,
    answerable: User | None,
    least_benefit: float,
    asked_by: str,
) -> Plan:
    """Make the plan of the proposed map. Raises Conflict where nothing moves, or where what moves
    is not paid back within the horizon."""
    point = mapping.outcome["points"][mapping.outcome["proposed"]]
    horizon_s = mapping.outcome["weights"]["horizon_s"]
    pays_after_s = point["pays_after_s"]
    chosen = mapping.former_cost is not None and mapping.outcome["proposed"] > 0
    if chosen and (pays_after_s is None or pays_after_s > horizon_s):
        when = "never" if pays_after_s is None else f"only after {duration(pays_after_s)}"
        raise Conflict(
            "nothing_to_change",
            f"{mapping}: the work of its moves is paid back {when}; the horizon is "
            f"{duration(horizon_s)}.",
        )
    return mapping_plan(mapping=mapping, actor=actor, answerable=answerable)


MAPPING = Computation(
    kind=KIND,
    title="Flows in streams and groups",
    noun="mapping",
    address="/api/v1/mappings",
    job="cluster",
    model=Mapping,
    freeze=freeze,
    job_inputs=job_inputs,
    store=store,
    topic="mapping",
    describe=describe,
    methods=clusterers,
    find_method=clusterer,
    again=again,
    plan=plan,
    watched={"filtering_drift": filtering_drift},
    plan_again="Map the flows again and make a new plan.",
)
