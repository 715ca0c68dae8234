"""Define placements as a kind of computation: what is frozen and stored."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from apps.catalog.models import Topic
from apps.common.computing import params_of
from apps.common.errors import Conflict
from apps.placements.domain.sentences import named, placement_sentence
from apps.placements.models import Placement
from apps.placements.selectors.infeasibility import explain_infeasible, infeasible_sentence
from apps.placements.selectors.problem import Former, placement_problem
from apps.placements.selectors.rounds import Rounds
from apps.placements.services.store import check_belongs, store_rows
from apps.runs.models import Run
from apps.runs.selectors import Answer, Computation, Question
from apps.systems.models import System
from apps.topology.models import Broker
from weir import __version__
from weir.codec.placement import placement_bytes, placement_from_json
from weir.placement import DEFAULT as DEFAULT_METHOD
from weir.placement import placer

KIND = "placement"


def freeze(
    system: System,
    *,
    topic: Topic,
    method: str = DEFAULT_METHOD,
    parameters: Mapping[str, Any] | None = None,
    drained_brokers: Sequence[Broker] = (),
    seed: int = 0,
    time_limit_s: float | None = None,
    note: str = "",
    measured_of: Placement | None = None,
) -> Question:
    """Freeze who publishes the topic where, what the brokers take, and what is measured of the
    placement `measured_of`, which is in force. Raises ApplicationError naming what of the request
    or of the model does not fit."""
    params_of(placer, method, parameters or {})
    former = None if measured_of is None else _former(measured_of)
    problem = placement_problem(system, topic, drained_brokers, former)
    promised = problem.contract.objectives
    if former is not None and not any(row.is_enough(promised) for row in problem.measured.values()):
        raise Conflict(
            "not_measured",
            f"{named(sorted(former.delays))}: {topic} was measured there, and no publish rate is "
            "left. Give these brokers one, or place the topic anew.",
        )
    return Question(
        payload=placement_bytes(problem),
        method=method,
        parameters=dict(parameters or {}),
        seed=seed,
        time_limit_s=time_limit_s,
        note=note,
    )


def _former(placement: Placement) -> Former:
    """Return what is measured of the placement. Raises Conflict where it is not in force, or where
    that is too little."""
    rounds = Rounds(placement)
    if rounds.why_not_in_force:
        raise Conflict("not_in_force", rounds.why_not_in_force)
    if rounds.profile.because:
        raise Conflict("not_measured", rounds.profile.because)
    return Former(
        placement=str(placement.public_id),
        delays=rounds.profile.delays,
        speeds_per_s=rounds.speeds_per_s,
    )


def store(run: Run, row: None, answer: bytes) -> Answer:
    """Check that the answer belongs to the run's snapshot; store it as rows where all publishers
    have room."""
    plain = json.loads(answer)
    problem = placement_from_json(bytes(run.snapshot.payload))
    check_belongs(run, problem, plain)
    infeasible = plain["status"] == "infeasible"
    looked_at = len(plain["curve"])
    return Answer(
        payload=answer,
        kernel_version=__version__,
        infeasible_because=infeasible_sentence(problem, plain) if infeasible else "",
        progress={"done": looked_at, "total": looked_at},
        row=None if infeasible else store_rows(run, problem, plain),
    )


def describe(placement: Placement) -> str:
    """Describe the placement in a sentence."""
    text = placement_sentence(
        topic=placement.topic_name,
        publishers=placement.publishers,
        brokers=placement.brokers,
        moved=placement.moved,
        p99_s=placement.p99_s,
        mean_s=placement.mean_s,
        objectives=placement.objectives,
        meets=placement.meets,
    )
    return f"{placement} places {text}"


PLACEMENT = Computation(
    kind=KIND,
    title="Publishers over brokers",
    noun="placement",
    address="/api/v1/placements",
    kernel="weir.placement.explained",
    model=Placement,
    freeze=freeze,
    store=store,
    explain_infeasible=explain_infeasible,
    explained_as="apps.placements.api.infeasibility.PlacementInfeasibilitySerializer",
    topic="placement",
    describe=describe,
)
