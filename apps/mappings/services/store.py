"""Check the kernel's answer against what was frozen, and store what its maps come to.

The maps themselves stay in the result of the run: a row has their figures alone.
"""

import math
from collections.abc import Mapping as Members
from collections.abc import Sequence
from typing import Any

import numpy as np

from apps.catalog.models import Stream
from apps.mappings.models import Mapping
from apps.mappings.selectors.measured import wanted_by
from apps.runs.models import Run
from apps.runs.selectors import run_note
from apps.runs.services.computations import next_number
from weir.clustering.answer import costs_to_dict, fault_of
from weir.clustering.cost import (
    filtering_cost,
    map_in_force,
    moved,
    moved_streams,
    random_filtering,
)
from weir.clustering.joint import NAME as DRAWS_CURVES
from weir.codec.mapping import Choices, choices_from_answer
from weir.errors import InvalidProblem
from weir.model.mapping import NOWHERE, FlowMap, MappingProblem, Moving

COSTS = ("cost", "transport_cost", "messaging_cost")
FIGURES = (*COSTS, "unwanted_per_s", "dropped_per_s")
PINS = {"flow": "flow_to_stream", "stream": "stream_to_group"}
ALIKE = 1e-9
MOST_PINS = 1000
"""The dearest pins that a row has."""


def _checked(run: Run, problem: MappingProblem, plain: Members[str, Any]) -> Choices:
    """Return the maps of an answer, each of which keeps limits and pins. Raises ValueError where
    the answer is to another question."""
    try:
        choices = choices_from_answer(problem, plain)
    except InvalidProblem as error:
        raise ValueError(f"{run}: answer to another snapshot: {error}") from error
    for each in choices.maps:
        if fault := fault_of(problem, each):
            raise ValueError(f"{run}: answer does not hold: {fault}")
    if not _alike(plain["random"], costs_to_dict(random_filtering(problem))):
        raise ValueError(f"{run}: answer has another cost of a random map than its snapshot")
    _check_pins(run, problem, plain)
    return choices


def _alike(stated: Members[str, float], counted: Members[str, float]) -> bool:
    """Return whether both are the same to what powers differ between machines."""
    return stated.keys() == counted.keys() and all(
        math.isclose(stated[name], value, rel_tol=ALIKE) for name, value in counted.items()
    )


def _checked_costs(
    run: Run, problem: MappingProblem, plain: Members[str, Any], choices: Choices
) -> list[dict[str, float]]:
    """Return the exact costs of each map. Raises ValueError unless the answer says the same: of its
    own map, and of the curve's."""
    figures = (*COSTS, "moved", "moved_streams")
    stated = {tuple(point[name] for name in figures) for point in plain.get("curve", ())}
    own = tuple(plain[name] for name in figures)
    every = []
    for at, each in enumerate(choices.maps):
        costs = costs_of(problem, each)
        moves = moved(problem, each), moved_streams(problem, each)
        exact = (*(costs[name] for name in COSTS), *moves)
        if exact != own if at == choices.proposed else exact not in stated:
            raise ValueError(
                f"{run}: a map of the answer costs {exact[0]} work/s for {moves[0]} moves, not as "
                "stated"
            )
        every.append(costs)
    return every


def _check_pins(run: Run, problem: MappingProblem, plain: Members[str, Any]) -> None:
    """Raise ValueError unless the answer has a price for each pin, and for nothing else."""
    prices = plain["pin_prices"]
    flows = [problem.flows[at] for at in np.flatnonzero(problem.pinned_stream != NOWHERE).tolist()]
    streams = [str(at) for at in np.flatnonzero(problem.pinned_group != NOWHERE).tolist()]
    if set(prices[PINS["flow"]]) != set(flows) or set(prices[PINS["stream"]]) != set(streams):
        raise ValueError(f"{run}: answer has prices of other pins than its snapshot")


def store_row(run: Run, problem: MappingProblem, plain: Members[str, Any]) -> Mapping:
    """Check the answer, and store what it comes to. Raises ValueError where it is to another
    question, breaks a limit or a pin, or costs something else than it says."""
    assert run.system is not None
    choices = _checked(run, problem, plain)
    costs = _checked_costs(run, problem, plain, choices)
    outcome = _outcome(run, problem, plain, choices, costs)
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
        kept_cost=None if in_force is None else outcome["points"][0]["cost"],
        random_cost=compared["random"]["cost"],
        moved=proposed["moved"],
        moved_streams=proposed["moved_streams"],
        unwanted_per_s=proposed["unwanted_per_s"],
        note=run_note(run),
        outcome=outcome,
    )


def _outcome(
    run: Run,
    problem: MappingProblem,
    plain: Members[str, Any],
    choices: Choices,
    costs: Sequence[Members[str, float]],
) -> dict[str, Any]:
    """Return what the maps of an answer come to, as `MappingOutcomeSerializer` describes it."""
    moving, weights = problem.moving, problem.weights
    if moving is None:
        raise ValueError(f"{run}: its snapshot does not say what moving takes")
    former = map_in_force(problem)
    in_force = None if former is None else costs_of(problem, former)
    points = _points(problem, moving, choices, costs)
    compared = {
        name: {each: plain[name][each] for each in FIGURES}
        for name in ("random", "flat")
        if name in plain
    }
    if in_force is not None:
        compared["in_force"] = in_force
    compared["proposed"] = {name: points[choices.proposed][name] for name in FIGURES}
    if in_force is not None and run.method == DRAWS_CURVES and plain["status"] == "solved":
        cheapest = min(points, key=lambda point: point["cost"])
        compared["anew"] = {name: cheapest[name] for name in FIGURES}
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
        "wanted_per_s": wanted_by(problem, choices.maps[choices.proposed]),
        "former_wanted_per_s": None if former is None else wanted_by(problem, former),
        "compared": [{"map": name, **costs} for name, costs in compared.items()],
        "points": points,
        "proposed": choices.proposed,
        "pins": _pins(run, problem, plain),
        "pin_count": sum(len(prices) for prices in plain["pin_prices"].values()),
    }


def costs_of(problem: MappingProblem, flow_map: FlowMap) -> dict[str, float]:
    """Return what a map costs, by layer, and how much unwanted traffic there is at each."""
    return costs_to_dict(filtering_cost(problem, flow_map.stream_of, flow_map.group_of))


def _points(
    problem: MappingProblem,
    moving: Moving,
    choices: Choices,
    costs: Sequence[Members[str, float]],
) -> list[dict[str, Any]]:
    """Return the figures of each map that can be chosen.

    Flows that have no stream yet, and pins, must move whatever is chosen: what a map moves and
    saves beyond the first one is what has to pay.
    """
    first = costs[0]["cost"]
    least = min(each["cost"] for each in costs)
    placed, retired = _placed_and_retired(problem)
    moves = [(moved(problem, each), moved_streams(problem, each)) for each in choices.maps]
    points: list[dict[str, Any]] = []
    for cost, (flows, streams), each in zip(costs, moves, choices.maps, strict=True):
        more_flows, more_streams = flows - moves[0][0], streams - moves[0][1]
        work = more_flows * moving.flow_work + more_streams * moving.stream_work
        points.append(
            {
                **cost,
                "moved": flows,
                "moved_streams": streams,
                "placed": placed,
                "retired": retired,
                "opened_streams": (opened := _opened_streams(problem, each)),
                "duration_s": (flows + placed + retired + streams + opened) / moving.flows_per_s,
                "pays_after_s": _ratio(max(work, 0.0), first - cost["cost"]),
                "gain_share": _ratio(first - cost["cost"], first - least),
            }
        )
    return points


def _opened_streams(problem: MappingProblem, flow_map: FlowMap) -> int:
    """Return how many streams get their first group."""
    used = flow_map.group_of != NOWHERE
    if problem.former is not None:
        used &= problem.former.group_of == NOWHERE
    return int(np.count_nonzero(used))


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


def _pins(run: Run, problem: MappingProblem, plain: Members[str, Any]) -> list[dict[str, Any]]:
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
            "number": int(name) if kind == "stream" else None,
            "to": to,
            "price": price,
        }
        for kind, name, to, price in dearest
    ]
