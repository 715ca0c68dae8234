"""Read what is to be forecast, and write what came of it (docs/formats.md, Forecast)."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from weir.errors import InvalidProblem
from weir.forecasting.seasonal import NoForecast, forecast

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FORMAT = 1
MOST_HOURS = 168


def question_checked(plain: object) -> dict[str, Any]:
    """Return the question, if it is one this version reads. Raises InvalidProblem."""
    if not isinstance(plain, dict):
        raise InvalidProblem("", "must be an object")
    if plain.get("format") != FORMAT:
        raise InvalidProblem("format", f"must be {FORMAT}")
    for name in ("first_hour", "measured_hours", "hours", "level", "series"):
        if name not in plain:
            raise InvalidProblem(name, "is missing")
    if not 0.5 <= float(plain["level"]) <= 1.0:
        raise InvalidProblem("level", "must be 0.5 to 1")
    if not 1 <= int(plain["hours"]) <= MOST_HOURS:
        raise InvalidProblem("hours", f"must be 1 to {MOST_HOURS}")
    for at, one in enumerate(plain["series"]):
        for value in one["values"]:
            if value is not None and not 0.0 <= value < float("inf"):
                raise InvalidProblem(f"series[{at}].values", "must be finite and not negative")
    return plain


def forecast_plain(
    one: Mapping[str, Any], question: Mapping[str, Any], seed: int
) -> dict[str, Any]:
    """Return what is to be expected of one series, or the reason why that is not known."""
    named = {"subject": one["subject"], "name": one["name"]}
    try:
        ahead = forecast(one["values"], hours=question["hours"], level=question["level"], seed=seed)
    except NoForecast as reason:
        return {**named, "reason": str(reason)}
    return {**named, **asdict(ahead)}


def answer_of(
    parts: Iterable[dict[str, Any]], question: Mapping[str, Any], snapshot_hash: str
) -> dict[str, Any]:
    """Return the whole answer: all series, by subject and name, from the hour after the last."""
    return {
        "format": FORMAT,
        "snapshot_hash": snapshot_hash,
        "first_hour": question["first_hour"] + question["measured_hours"],
        "hours": question["hours"],
        "series": sorted(parts, key=lambda part: (part["subject"], part["name"])),
    }
