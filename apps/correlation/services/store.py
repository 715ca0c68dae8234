"""Store the kernel's answer as an analysis with its suggestions."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from apps.catalog.models import Topic
from apps.common.errors import ApplicationError
from apps.correlation.domain.names import proposals
from apps.correlation.models import CorrelationAnalysis, Source, Suggestion
from apps.runs.models import Run
from apps.runs.selectors import run_note
from apps.runs.services.computations import next_number

BATCH = 500
EVIDENCE = (
    *("share", "by_chance", "spread_s", "bursts", "period_s", "phase_s", "rate_per_s", "example"),
)


def plain_of(answer: bytes) -> dict[str, Any]:
    """Return the answer as plain data. Raises ValueError where a number is not finite,
    ApplicationError where a name cannot be stored."""

    def refuse(text: str) -> None:
        raise ValueError(f"answer holds {text}")

    plain: dict[str, Any] = json.loads(answer, parse_constant=refuse)
    # Postgres has no such character. What JSON writes so otherwise is looked at closely.
    if b"\\u0000" in answer and any(
        "\0" in name for group in plain["groups"] for name in group["members"]
    ):
        raise ApplicationError(
            "invalid_recording",
            "The recording names a publisher with a NUL character, which no publisher of the "
            "catalogue can have. Rename it in the recording.",
        )
    return plain


def check_belongs(run: Run, frozen: Mapping[str, Any], plain: Mapping[str, Any]) -> None:
    """Raise ValueError where the answer is to another question: another topic, method, search or
    other publishers."""
    if plain["method"] != run.method:
        raise ValueError(f"{run}: answer of {plain['method']}, not {run.method}")
    if plain["topic"] != frozen["topic"]:
        raise ValueError(f"{run}: answer about {plain['topic']}, not {frozen['topic']}")
    if plain["search"] != run.parameters:
        raise ValueError(f"{run}: answer of another search than was asked")
    if frozen["source"]["kind"] == Source.MEASURED:
        known = set(frozen["publishers"])
        if plain["publishers"] != len(known):
            raise ValueError(f"{run}: answer about other publishers than its snapshot has")
        if any(not known.issuperset(group["members"]) for group in plain["groups"]):
            raise ValueError(f"{run}: answer names publishers that its snapshot has not")
    for group in plain["groups"]:
        if len(set(group["members"])) != len(group["members"]):
            raise ValueError(f"{run}: answer names a publisher twice in a group")


def store_rows(run: Run, plain: Mapping[str, Any]) -> CorrelationAnalysis:
    """Store the analysis of an answer with its suggestions, all of them open."""
    assert run.system is not None
    topic = Topic.objects.filter(system=run.system, name=plain["topic"]).first()
    source = json.loads(bytes(run.snapshot.payload))["source"]
    analysis = CorrelationAnalysis.objects.create(
        system=run.system,
        run=run,
        number=next_number(CorrelationAnalysis, run),
        topic=topic,
        topic_name=plain["topic"],
        source=source["kind"],
        recording=source.get("name", ""),
        since=_moment(plain["since_s"]),
        until=_moment(plain["until_s"]),
        within_s=plain["search"]["within_s"],
        publishers=plain["publishers"],
        judged=plain["judged"],
        periodic=plain["periodic"],
        groups=len(plain["groups"]),
        note=run_note(run),
        outcome={name: value for name, value in plain.items() if name != "groups"},
    )
    members = [sorted(group["members"]) for group in plain["groups"]]
    names = proposals(members, plain["topic"])
    Suggestion.objects.bulk_create(
        (
            Suggestion(
                analysis=analysis,
                number=number,
                kind=group["kind"],
                size=len(each),
                members=each,
                proposal=name,
                **{column: group[column] for column in EVIDENCE},
            )
            for number, (group, each, name) in enumerate(
                zip(plain["groups"], members, names, strict=True), start=1
            )
        ),
        batch_size=BATCH,
    )
    return analysis


def _moment(at_s: float | None) -> datetime | None:
    """Return the time; None where a recording counts its seconds from nowhere in the calendar."""
    if at_s is None:
        return None
    try:
        return datetime.fromtimestamp(at_s, UTC)
    except (ValueError, OverflowError, OSError):
        return None
