"""A topic's placement with all that its page shows, as a kernel of one call.

Beside the assignments: what each number of brokers would cost, each broker's part, each group over
the brokers, and what is so today. Rates are messages per second, delays seconds.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from weir.codec.placement import placement_from_json
from weir.model.placement import NOWHERE
from weir.placement import DEFAULT, placer, srtm
from weir.placement._quotas import brokers_needed
from weir.placement.options import (
    Delays,
    Option,
    option,
    option_of_today,
    options,
    with_fewest_moves,
)
from weir.placement.profiling import choice, fitted, search_rounds, verdicts
from weir.plugins import from_dict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from weir.kernel import Call
    from weir.model.placement import PlacementProblem


def answer(payload: bytes, call: Call) -> bytes:
    """Return the explained placement of `call.method`. Raises WeirError for a bad problem."""

    def go_on(done: int, total: int) -> bool:
        call.report({"done": done, "total": total})
        return not call.stop()

    problem = placement_from_json(payload)
    explained = explained_of(
        problem, call.method or DEFAULT, call.parameters, seed=call.seed, go_on=go_on
    )
    return json.dumps(explained, sort_keys=True).encode()


def explained_of(
    problem: PlacementProblem,
    method: str,
    parameters: Mapping[str, Any],
    *,
    seed: int,
    go_on: Callable[[int, int], bool] = lambda done, total: True,
) -> dict[str, Any]:
    """Return the placement and what explains it as plain data.

    `go_on(done, total)` is called between two numbers of brokers, and while more is computed of
    what was measured; what has been looked at when it is False is all that there is to choose
    from. Raises WeirError for an unknown method or
    parameter.
    """
    module = placer(method)
    params = from_dict(module.Params, parameters)
    given, problem = problem, fitted(problem)
    objectives = problem.contract.objectives
    stay = bool(getattr(params, "stay", True))
    curve = options(problem, stay=stay, seed=seed, go_on=go_on)
    more = partial(go_on, len(curve), len(curve))
    today = option_of_today(problem)
    if method == srtm.NAME:
        chosen = choice(problem, curve, stay=stay, seed=seed, go_on=more)
    else:
        places = module.place(problem, params, seed=seed).broker_of
        used = np.unique(places[places != NOWHERE])
        chosen = option(problem, tuple(used.tolist()), with_fewest_moves(problem, places))
    taken = chosen if chosen is not None and chosen.fits else None
    shown = chosen or (curve[-1] if curve else None)
    places = (
        np.full(len(problem.publishers.names), NOWHERE, dtype=np.int64)
        if shown is None
        else shown.places
    )
    return {
        "method": method,
        **_assigned(problem, places),
        "contract": {
            "rate_per_s": problem.contract.messages_per_s,
            "token_rate_per_s": problem.contract.token_rate_per_s,
            "bucket": problem.contract.bucket,
            "recorded_bucket": problem.contract.recorded_bucket,
            "batch": problem.contract.batch,
            "slo_p99_s": objectives.p99_s,
            "slo_mean_s": objectives.mean_s,
        },
        **_delays(shown.whole if taken and shown else Delays()),
        "meets": taken.whole.meets(objectives) if taken else None,
        "today": None if today is None else _today(problem, today),
        "curve": _curve(problem, curve, taken),
        **_shares(problem, places, shown),
        "groups": _groups(problem, places),
        "measured": _measured(given, problem, seed, more),
    }


def _measured(
    given: PlacementProblem, fit: PlacementProblem, seed: int, go_on: Callable[[], bool]
) -> dict[str, Any] | None:
    """Return what was measured of the placement in force, and what was fitted to it."""
    if not given.measured:
        return None
    rounds = search_rounds(fit, seed=seed, go_on=go_on)
    return {**verdicts(given, fit), "search_rounds": rounds}


def _assigned(problem: PlacementProblem, places: NDArray[np.int64]) -> dict[str, Any]:
    names = [broker.broker for broker in problem.brokers]
    publishers = problem.publishers
    nowhere = np.flatnonzero(places == NOWHERE)
    largest = max((broker.most_per_s for broker in problem.brokers), default=0.0)
    # No further broker holds a publisher that is pinned to one without room.
    pinned = bool((publishers.pinned[nowhere] != NOWHERE).any())
    need = None if pinned else brokers_needed(problem.loads()[nowhere], largest)
    return {
        "status": "infeasible" if len(nowhere) else "solved",
        "assignments": {
            name: names[at]
            for name, at in zip(publishers.names, places.tolist(), strict=True)
            if at != NOWHERE
        },
        "unassigned": [publishers.names[at] for at in nowhere.tolist()],
        "need_brokers": need,
        "publishers": len(places),
        "moved": int(np.count_nonzero((places != publishers.today) & (places != NOWHERE))),
    }


def _delays(delays: Delays) -> dict[str, float | None]:
    return {
        "p99_s": delays.p99_s,
        "processing_p99_s": delays.processing_p99_s,
        "penalty_s": delays.penalty_s,
        "mean_s": delays.mean_s,
    }


def _today(problem: PlacementProblem, today: Option) -> dict[str, Any]:
    return {
        "brokers": today.used,
        "publishers": int(np.count_nonzero(today.places != NOWHERE)),
        **_delays(today.whole),
        "meets": today.whole.meets(problem.contract.objectives),
    }


def _curve(
    problem: PlacementProblem, curve: list[Option], taken: Option | None
) -> list[dict[str, Any]]:
    """Return a row for each number of brokers; what was taken stands for its number."""
    # Where whole publishers need fewer than they may use, fewer it is.
    by_count: dict[int, Option] = {}
    for each in sorted(curve, key=lambda each: not each.fits):
        by_count.setdefault(each.used if each.fits else len(each.brokers), each)
    if taken is not None:
        by_count[taken.used] = taken
    today = problem.publishers.today
    rows = []
    for count, each in sorted(by_count.items()):
        moved = (each.places != today) & (each.places != NOWHERE)
        rows.append(
            {
                "brokers": count,
                "names": [problem.brokers[at].broker for at in _named(each)],
                "fits": each.fits,
                "chosen": each is taken,
                **_delays(each.whole),
                "meets": each.whole.meets(problem.contract.objectives) if each.fits else None,
                "moved": int(np.count_nonzero(moved)),
                "free_bucket": each.free_bucket,
            }
        )
    return rows


def _named(each: Option) -> list[int]:
    """Return the brokers of an option: those that serve somebody, where all have room."""
    if not each.fits:
        return list(each.brokers)
    used = set(each.places.tolist())
    return [at for at in each.brokers if at in used]


def _shares(
    problem: PlacementProblem, places: NDArray[np.int64], shown: Option | None
) -> dict[str, Any]:
    """Return every broker with its part, those with most of the topic first."""
    loads, contract = problem.loads(), problem.contract
    count = len(problem.brokers)
    today = problem.publishers.today
    carried, publishers = _per_broker(places, loads, count)
    carried_today, publishers_today = _per_broker(today, loads, count)
    whole = float(carried.sum())
    rows = []
    for at in sorted(range(count), key=lambda at: (-carried[at], problem.brokers[at].broker)):
        broker = problem.brokers[at]
        share = float(carried[at]) / whole if whole > 0 else 0.0
        delays = shown.by_broker.get(at, Delays()) if shown else Delays()
        rows.append(
            {
                "broker": broker.broker,
                "max_rate_per_s": broker.max_rate_per_s,
                "allocated_rate_per_s": broker.allocated_rate_per_s,
                "drained": broker.drained,
                "speed_per_s": broker.processes_per_s,
                "publishers": int(publishers[at]),
                "publishers_today": int(publishers_today[at]),
                "rate_per_s": float(carried[at]),
                "rate_today_per_s": float(carried_today[at]),
                "token_rate_per_s": contract.token_rate_per_s * share if share else None,
                "bucket": contract.bucket * share if share else None,
                "wait_p99_s": delays.wait_p99_s,
                "below_one_token": bool(share) and contract.bucket * share < 1.0,
                **_delays(delays),
            }
        )
    largest = max((row["token_rate_per_s"] or 0.0 for row in rows), default=0.0)
    return {"shares": rows, "largest_share_per_s": largest or None}


def _per_broker(
    places: NDArray[np.int64], loads: NDArray[np.float64], count: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    served = places != NOWHERE
    return (
        np.bincount(places[served], loads[served], count).astype(float),
        np.bincount(places[served], minlength=count),
    )


def _groups(problem: PlacementProblem, places: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Return each group over the brokers that serve the topic, those without a group last."""
    publishers = problem.publishers
    names = [broker.broker for broker in problem.brokers]
    groups = np.where(publishers.groups == NOWHERE, len(publishers.group_names), publishers.groups)
    served = places != NOWHERE
    cells = np.zeros((len(publishers.group_names) + 1, len(names)), dtype=np.int64)
    np.add.at(cells, (groups[served], places[served]), 1)
    columns = cells.sum(axis=0)
    used = np.flatnonzero(columns).tolist()
    rows = []
    for at, name in enumerate([*publishers.group_names, None]):
        members = int(cells[at].sum())
        if not members:
            continue
        fair = members * columns / columns.sum()
        rows.append(
            {
                "name": name,
                "publishers": members,
                "by_broker": {names[broker]: int(cells[at, broker]) for broker in used},
                "within_one": bool((np.abs(cells[at] - fair) < 1.0 + 1e-9).all()),
            }
        )
    return rows
