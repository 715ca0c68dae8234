"""Store the kernel's answer as a placement with its moves."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from apps.catalog.models import Topic
from apps.placements.domain.sentences import brokers_used
from apps.placements.models import Move, Placement
from apps.runs.models import Run
from apps.runs.selectors import run_note
from apps.runs.services.computations import next_number
from weir.model.placement import NOWHERE, PlacementProblem
from weir.model.placement import Placement as Answer
from weir.placement.moves import price_of_moves
from weir.placement.profiling import fitted

BATCH = 2000


def outcome_of(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer as it is stored and published: without the broker of each publisher, and
    with `unassigned` as a count."""
    rest = {name: value for name, value in plain.items() if name != "assignments"}
    return {**rest, "unassigned": len(plain["unassigned"])}


def check_belongs(run: Run, problem: PlacementProblem, plain: Mapping[str, Any]) -> None:
    """Raise ValueError where the answer is to another question: other publishers, brokers, contract
    or method."""
    publishers = set(problem.publishers.names)
    assignments, unassigned = plain["assignments"], plain["unassigned"]
    placed = set(assignments)
    if plain["method"] != run.method:
        raise ValueError(f"{run}: answer of {plain['method']}, not {run.method}")
    everybody = len(assignments) + len(unassigned) == len(publishers)
    if placed | set(unassigned) != publishers or not everybody:
        raise ValueError(f"{run}: answer places other publishers than its snapshot has")
    known = {broker.broker for broker in problem.brokers}
    if not known.issuperset(assignments.values()):
        raise ValueError(f"{run}: answer names brokers that its snapshot has not")
    if {share["broker"] for share in plain["shares"]} != known:
        raise ValueError(f"{run}: answer shares the topic among other brokers than its snapshot")
    ours, theirs = problem.contract, plain["contract"]
    names = (
        *("token_rate_per_s", "bucket", "recorded_bucket", "batch"),
        *("slo_p99_s", "slo_mean_s"),
    )
    if any(theirs.get(name) != getattr(ours, name) for name in names):
        raise ValueError(f"{run}: answer keeps to another contract than its snapshot has")
    measured = plain.get("measured")
    if (None if measured is None else measured["of"]) != problem.measured_of:
        raise ValueError(f"{run}: answer is made by other measurements than its snapshot has")
    _check_pins_and_drains(run, problem, assignments)


def _check_pins_and_drains(
    run: Run, problem: PlacementProblem, assignments: Mapping[str, str]
) -> None:
    publishers = problem.publishers
    for at in np.flatnonzero(publishers.pinned != NOWHERE).tolist():
        name, broker = publishers.names[at], problem.brokers[publishers.pinned[at]].broker
        if assignments.get(name, broker) != broker:
            raise ValueError(f"{run}: answer moves {name}, which is pinned to {broker}")
    drained = {broker.broker for broker in problem.brokers if broker.drained}
    if drained and not drained.isdisjoint(assignments.values()):
        raise ValueError(f"{run}: answer uses a broker that is drained")


def store_rows(run: Run, problem: PlacementProblem, plain: Mapping[str, Any]) -> Placement:
    """Store the placement of an answer that has room for all, with the publishers that change
    their broker."""
    contract = problem.contract
    assert run.system is not None
    topic = Topic.objects.filter(system=run.system, name=contract.topic).first()
    former = _former(run, topic, problem.measured_of)
    placement = Placement.objects.create(
        system=run.system,
        run=run,
        number=next_number(Placement, run),
        topic=topic,
        topic_name=contract.topic,
        method=plain["method"],
        brokers=brokers_used(plain),
        publishers=plain["publishers"],
        moved=plain["moved"],
        p99_s=plain["p99_s"],
        processing_p99_s=plain["processing_p99_s"],
        penalty_s=plain["penalty_s"],
        mean_s=plain["mean_s"],
        slo_p99_s=contract.slo_p99_s,
        slo_mean_s=contract.slo_mean_s,
        meets=plain["meets"],
        drained_brokers=[broker.broker for broker in problem.brokers if broker.drained],
        note=run_note(run),
        based_on=former,
        round=former.round + 1 if former else 1,
        outcome=outcome_of(plain),
    )
    Move.objects.bulk_create(_moves(placement, problem, plain["assignments"]), batch_size=BATCH)
    return placement


def _former(run: Run, topic: Topic | None, measured_of: str | None) -> Placement | None:
    """Return the placement of the topic that was in force while was measured what the snapshot
    holds."""
    if measured_of is None:
        return None
    rows = Placement.objects.filter(system=run.system, topic=topic, public_id=measured_of)
    return rows.only("round").first()


def _moves(
    placement: Placement, problem: PlacementProblem, assignments: Mapping[str, str]
) -> list[Move]:
    publishers = problem.publishers
    brokers = [broker.broker for broker in problem.brokers]
    must_move, p99_without_s = _prices(problem, placement.method, assignments)
    rows = zip(
        publishers.names,
        publishers.rates_per_s.tolist(),
        publishers.groups.tolist(),
        publishers.today.tolist(),
        must_move,
        p99_without_s,
        strict=True,
    )
    moves = []
    for name, rate, group, today, must, price in rows:
        former = "" if today == NOWHERE else brokers[today]
        if assignments[name] != former:
            moves.append(
                Move(
                    placement=placement,
                    publisher=name,
                    group="" if group == NOWHERE else publishers.group_names[group],
                    rate_per_s=rate,
                    from_broker=former,
                    to_broker=assignments[name],
                    must_move=must,
                    p99_without_s=price,
                )
            )
    return moves


def _prices(
    problem: PlacementProblem, method: str, assignments: Mapping[str, str]
) -> tuple[list[bool], list[float | None]]:
    """Return, for each publisher, whether it must move and the percentile if it stayed; what does
    not move, or has no broker today, has no price."""
    at = {broker.broker: index for index, broker in enumerate(problem.brokers)}
    names = problem.publishers.names
    places = np.array([at[assignments[name]] for name in names], dtype=np.int64)
    must_move = (problem.publishers.today == NOWHERE).tolist()
    p99_without_s: list[float | None] = [None] * len(names)
    for price in price_of_moves(fitted(problem), Answer(method=method, broker_of=places)).moves:
        for index in price.publishers.tolist():
            must_move[index], p99_without_s[index] = price.must_move, price.p99_without_s
    return must_move, p99_without_s
