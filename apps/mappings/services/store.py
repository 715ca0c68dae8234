"""Check the kernel's answer against what was frozen, and store what its maps come to.

The maps themselves stay in the result of the run: a row has their figures alone.
"""

import math
from collections.abc import Mapping as Members
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apps.catalog.models import Stream
from apps.mappings.models import Mapping
from apps.runs.models import Run
from apps.runs.selectors import run_note
from apps.runs.services.computations import next_number
from weir.clustering.answer import fault_of
from weir.clustering.cost import filtering_cost, moved, moved_streams, random_cost
from weir.codec.mapping import Choices, choices_from_answer
from weir.errors import InvalidProblem
from weir.model.mapping import NOWHERE, FlowMap, MappingProblem, Moving

COSTS = ("cost", "transport_cost", "messaging_cost")
FIGURES = (*COSTS, "unwanted_per_s", "dropped_per_s")
PINS = {"flow": "flow_to_stream", "stream": "stream_to_group"}
MOST_PINS = 1000
"""The dearest pins that a row has."""


def checked(run: Run, problem: MappingProblem, plain: Members[str, Any]) -> Choices:
    """Return the maps of an answer, each of which keeps limits and pins and costs what the answer
    says. Raises ValueError where the answer is to another question."""
    try:
        choices = choices_from_answer(problem, plain)
    except InvalidProblem as error:
        raise ValueError(f"{run}: answer to another snapshot: {error}") from error
    for each in choices.maps:
        if fault := fault_of(problem, each):
            raise ValueError(f"{run}: answer does not hold: {fault}")
    own = choices.maps[choices.proposed]
    mapped = int(np.count_nonzero(own.stream_of != NOWHERE))
    used = int(np.count_nonzero(own.group_of != NOWHERE))
    if (len(plain["stream_of"]), len(plain["group_of"])) != (mapped, used):
        raise ValueError(f"{run}: answer maps flows that nobody wants, or streams without a flow")
    counts = (moved(problem, own), moved_streams(problem, own))
    if (plain["moved"], plain["moved_streams"]) != counts:
        raise ValueError(f"{run}: answer moves {plain['moved']} flows, its map {counts[0]}")
    if plain["random_cost"] != random_cost(problem):
        raise ValueError(f"{run}: answer has another cost of a random map than its snapshot")
    _check_costs(run, problem, plain, choices)
    _check_pins(run, problem, plain)
    return choices


def _check_costs(
    run: Run, problem: MappingProblem, plain: Members[str, Any], choices: Choices
) -> None:
    """Raise ValueError unless each map costs exactly what the answer says of one of its maps, and
    the method's own what it says of that."""
    said = {tuple(point[name] for name in COSTS) for point in (plain, *plain.get("curve", ()))}
    for at, each in enumerate(choices.maps):
        cost = filtering_cost(problem, each.stream_of, each.group_of)
        exact = (cost.total, cost.transport, cost.messaging)
        own = at == choices.proposed
        if exact != tuple(plain[name] for name in COSTS) if own else exact not in said:
            raise ValueError(f"{run}: a map of the answer costs {exact[0]} work/s, not as it says")


def _check_pins(run: Run, problem: MappingProblem, plain: Members[str, Any]) -> None:
    """Raise ValueError unless the answer has a price for each pin, and for nothing else."""
    prices = plain["pin_prices"]
    flows = [problem.flows[at] for at in np.flatnonzero(problem.pinned_stream != NOWHERE).tolist()]
    streams = [str(at) for at in np.flatnonzero(problem.pinned_group != NOWHERE).tolist()]
    if set(prices[PINS["flow"]]) != set(flows) or set(prices[PINS["stream"]]) != set(streams):
        raise ValueError(f"{run}: answer has prices of other pins than its snapshot")


def store_row(
    run: Run, problem: MappingProblem, plain: Members[str, Any], choices: Choices
) -> Mapping:
    """Store the figures of an answer that was checked."""
    assert run.system is not None
    outcome = outcome_of(run, problem, plain, choices)
    compared = {each["map"]: each for each in outcome["compared"]}
    proposed = outcome["points"][choices.proposed]
    audiences = problem.interests.audiences
    in_force = compared.get("in_force")
    return Mapping.objects.create(
        system=run.system,
        run=run,
        number=next_number(Mapping, run),
        method=run.method,
        complete=plain["status"] == "solved",
        flows=len(problem.flows),
        wanted_flows=int(np.count_nonzero(audiences)),
        users=len(problem.users),
        interests=int(audiences.sum()),
        streams=problem.max_streams,
        groups=problem.max_groups,
        cost=proposed["cost"],
        former_cost=None if in_force is None else in_force["cost"],
        random_cost=compared["random"]["cost"],
        moved=proposed["moved"],
        moved_streams=proposed["moved_streams"],
        unwanted_per_s=proposed["unwanted_per_s"],
        note=run_note(run),
        outcome=outcome,
    )


def outcome_of(
    run: Run, problem: MappingProblem, plain: Members[str, Any], choices: Choices
) -> dict[str, Any]:
    """Return what the maps of an answer come to, as `MappingOutcomeSerializer` describes it."""
    moving, weights = problem.moving, problem.weights
    if moving is None:
        raise ValueError(f"{run}: its snapshot does not say what moving takes")
    former = problem.former
    in_force = None if former is None else figures(problem, former.stream_of, former.group_of)
    points = _points(problem, moving, choices, in_force)
    compared = {name: {each: plain[name][each] for each in FIGURES} for name in ("random", "flat")}
    proposed = {name: points[choices.proposed][name] for name in FIGURES}
    if in_force is None:
        compared |= {"proposed": proposed}
    else:
        cheapest = min(points, key=lambda point: point["cost"])
        anew = {name: cheapest[name] for name in FIGURES}
        compared |= {"in_force": in_force, "proposed": proposed, "anew": anew}
    return {
        "weights": {
            "transport": weights.transport,
            "messaging": weights.messaging,
            "aggregation": weights.aggregation,
            "move_cost": problem.move_cost,
            "stream_move_cost": problem.stream_move_cost,
            "flow_move_work": moving.flow_work,
            "stream_move_work": moving.stream_work,
            "horizon_s": moving.horizon_s,
            "flows_per_s": moving.flows_per_s,
        },
        "unmapped": points[0]["placed"],
        "compared": [{"map": name, **costs} for name, costs in compared.items()],
        "points": points,
        "proposed": choices.proposed,
        "pins": _pins(run, problem, plain),
    }


def figures(
    problem: MappingProblem, stream_of: NDArray[np.int64], group_of: NDArray[np.int64]
) -> dict[str, float]:
    """Return what a map costs, by layer, and how much unwanted traffic there is at each."""
    cost = filtering_cost(problem, stream_of, group_of)
    return {
        "cost": cost.total,
        "transport_cost": cost.transport,
        "messaging_cost": cost.messaging,
        "unwanted_per_s": cost.unwanted_per_s,
        "dropped_per_s": cost.dropped_per_s,
    }


def _points(
    problem: MappingProblem,
    moving: Moving,
    choices: Choices,
    in_force: Members[str, float] | None,
) -> list[dict[str, Any]]:
    """Return the figures of each map that can be chosen.

    What moves save is counted from the first map where there are several: flows that have no stream
    yet, and pins, must move whatever is chosen.
    """
    costs = [figures(problem, each.stream_of, each.group_of) for each in choices.maps]
    first = costs[0]["cost"]
    least = min(each["cost"] for each in costs)
    base = first if len(costs) > 1 or in_force is None else in_force["cost"]
    placed, retired = _placed_and_retired(problem)
    points: list[dict[str, Any]] = []
    for each, cost in zip(choices.maps, costs, strict=True):
        flows, streams = moved(problem, each), moved_streams(problem, each)
        work = flows * moving.flow_work + streams * moving.stream_work
        points.append(
            {
                **cost,
                "moved": flows,
                "moved_streams": streams,
                "placed": placed,
                "retired": retired,
                "duration_s": (flows + placed) / moving.flows_per_s,
                "pays_after_s": _ratio(work, base - cost["cost"]),
                "gain_share": _ratio(first - cost["cost"], first - least),
            }
        )
    return points


def _placed_and_retired(problem: MappingProblem) -> tuple[int, int]:
    """Return how many flows get a stream and had none, and how many had one and nobody wants."""
    wanted = problem.interests.audiences > 0
    if problem.former is None:
        return int(np.count_nonzero(wanted)), 0
    mapped = problem.former.stream_of != NOWHERE
    return int(np.count_nonzero(wanted & ~mapped)), int(np.count_nonzero(mapped & ~wanted))


def _ratio(part: float, whole: float) -> float | None:
    """Return the part of a whole; None where there is no whole, or next to none."""
    ratio = part / whole if whole > 0 else math.inf
    return ratio if math.isfinite(ratio) else None


def _pins(
    run: Run, problem: MappingProblem, plain: Members[str, Any]
) -> list[dict[str, Any]]:
    """Return the dearest pins with their prices, the dearest first."""
    place = {name: at for at, name in enumerate(problem.flows)}
    prices = plain["pin_prices"]
    pins = [
        ("flow", name, int(problem.pinned_stream[place[name]]), price)
        for name, price in prices[PINS["flow"]].items()
    ]
    pins += [
        ("stream", number, int(problem.pinned_group[int(number)]), price)
        for number, price in prices[PINS["stream"]].items()
    ]
    dearest = sorted(pins, key=lambda pin: (-pin[3], pin[:2]))[:MOST_PINS]
    numbers = [int(name) for kind, name, _, _ in dearest if kind == "stream"]
    rows = Stream.objects.filter(system=run.system, number__in=numbers)
    names = {str(number): name for number, name in rows.values_list("number", "name")}
    return [
        {
            "kind": kind,
            # A stream that was deleted meanwhile is left with its number.
            "name": names.get(name, name) if kind == "stream" else name,
            "to": to,
            "price": price,
        }
        for kind, name, to, price in dearest
    ]
