"""Profiles as plain dicts and JSON bytes: a placement problem with what brokers process in truth.

The format of `weir.codec.placement`, where each broker may have `true_rate`, the messages that the
simulated broker in its place processes per second; left out, as many as `max_rate` says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weir.codec.json_text import object_from_json
from weir.codec.placement import placement_from_dict, placement_result_to_dict
from weir.errors import InvalidProblem
from weir.placement._prediction import predicted
from weir.placement.profiling import verdicts
from weir.placement.srtm import NAME
from weir.reading import number

if TYPE_CHECKING:
    from weir.model.placement import PlacementProblem
    from weir.placement.profiling import Profile, Round


def profile_from_json(raw: bytes) -> tuple[PlacementProblem, list[float]]:
    """Return the checked problem, and what each of its brokers processes in truth, in messages per
    second. Raises InvalidProblem naming entry and field."""
    return profile_from_dict(object_from_json(raw))


def profile_from_dict(obj: dict[str, Any]) -> tuple[PlacementProblem, list[float]]:
    """Return the same of a plain dict. Raises InvalidProblem."""
    entries = obj.get("brokers")
    rates: dict[str, float] = {}
    plain = obj
    if isinstance(entries, list):
        known = [
            {key: value for key, value in entry.items() if key != "true_rate"}
            if isinstance(entry, dict)
            else entry
            for entry in entries
        ]
        plain = {**obj, "brokers": known}
    problem = placement_from_dict(plain)
    if not problem.contract.objectives:
        raise InvalidProblem(
            "topic.slo_p99_s", "must be given, or slo_mean_s: without either nothing is missed"
        )
    for at, entry in enumerate(obj["brokers"]):
        path = f"brokers[{at}].true_rate"
        rate = number(entry.get("true_rate", entry["max_rate"]), path)
        if rate <= 0 and "true_rate" in entry:
            raise InvalidProblem(path, f"must be above 0, but is {rate:g}")
        rates[entry["id"]] = rate
    return problem, [rates[broker.broker] for broker in problem.brokers]


def profile_to_dict(profile: Profile, *, search_rounds: int) -> dict[str, Any]:
    """Return the published form of rounds on simulated brokers (docs/formats.md, Profile)."""
    last = profile.rounds[-1].problem if profile.rounds else None
    placed = (
        {}
        if last is None
        else placement_result_to_dict(last, predicted(last, last.publishers.today, method=NAME))
    )
    return {
        "status": "kept" if profile.kept else "missed",
        "brokers_are": "simulated",
        "assignments": placed.get("assignments", {}),
        "buckets": placed.get("buckets", {}),
        "rounds": [_round(each) for each in profile.rounds],
        "measured_rounds": len(profile.rounds),
        "measured_seconds": profile.seconds,
        "search_rounds": search_rounds,
    }


def _round(each: Round) -> dict[str, Any]:
    """Return one placement in force with what was predicted and measured of it."""
    shown = verdicts(each.problem, each.fit)
    names = {each.problem.brokers[at].broker for at in each.measured_now}
    rows = [{**row, "measured_now": row["broker"] in names} for row in shown["brokers"]]
    return {"seconds": each.seconds, "meets": shown["meets"], "brokers": rows}
