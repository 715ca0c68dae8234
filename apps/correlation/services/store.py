"""Store the kernel's answer as an analysis with its suggestions."""

from datetime import UTC, datetime
from typing import Any

from apps.catalog.models import Topic
from apps.correlation.domain.names import proposals
from apps.correlation.models import CorrelationAnalysis, Source, Suggestion
from apps.runs.models import Run
from apps.runs.selectors import run_note
from apps.runs.services.computations import next_number
from apps.runs.services.gateway import JobFailed
from weir.codec.correlation import (
    CorrelationAnswer,
    CorrelationSnapshot,
    answer_to_dict,
    search_from_dict,
)

BATCH = 500
EVIDENCE = (
    *("kind", "share", "by_chance", "spread_s", "bursts", "period_s", "phase_s"),
    *("rate_per_s", "example"),
)


def check_belongs(run: Run, snapshot: CorrelationSnapshot, answer: CorrelationAnswer) -> None:
    """Raise ValueError where the answer is to another question (another topic, method, search, or
    other publishers), JobFailed where a name cannot be stored."""
    if answer.method != run.method:
        raise ValueError(f"{run}: answer of {answer.method}, not {run.method}")
    if answer.topic != snapshot.topic:
        raise ValueError(f"{run}: answer about {answer.topic}, not {snapshot.topic}")
    if answer.search != search_from_dict(run.parameters):
        raise ValueError(f"{run}: answer of another search")
    suggested = answer.suggested
    if snapshot.activity is not None:
        known = set(snapshot.activity.names)
        if suggested.publishers != len(known):
            raise ValueError(f"{run}: answer about other publishers than its snapshot has")
        if any(not known.issuperset(group.members) for group in suggested.groups):
            raise ValueError(f"{run}: answer names publishers that its snapshot has not")
    for group in suggested.groups:
        if len(set(group.members)) != len(group.members):
            raise ValueError(f"{run}: answer names a publisher twice in a group")
        # Postgres has no such character.
        if any("\0" in name for name in group.members):
            raise JobFailed(
                "The recording names a publisher with a NUL character, which no publisher of the "
                "catalogue can have. Rename it in the recording."
            )


def store_rows(
    run: Run, snapshot: CorrelationSnapshot, answer: CorrelationAnswer
) -> CorrelationAnalysis:
    """Store the analysis of an answer with its suggestions, all of them open."""
    assert run.system is not None
    suggested, recording = answer.suggested, snapshot.recording
    plain = answer_to_dict(answer)
    groups = plain.pop("groups")
    analysis = CorrelationAnalysis.objects.create(
        system=run.system,
        run=run,
        number=next_number(CorrelationAnalysis, run),
        # By its id: another topic may have its name by now.
        topic=Topic.objects.filter(system=run.system, public_id=snapshot.topic_id).first(),
        topic_name=answer.topic,
        source=Source.RECORDING if recording else Source.MEASURED,
        recording=recording.name if recording else "",
        since=_moment(suggested.since_s),
        until=_moment(suggested.until_s),
        within_s=answer.search.within_s,
        publishers=suggested.publishers,
        judged=suggested.judged,
        periodic=suggested.periodic,
        groups=len(groups),
        note=run_note(run),
        outcome=plain,
        left_out=None if recording else _left_out(snapshot),
    )
    members = [sorted(group["members"]) for group in groups]
    names = proposals(members, answer.topic)
    Suggestion.objects.bulk_create(
        (
            Suggestion(
                analysis=analysis,
                number=number,
                size=len(each),
                members=each,
                proposal=name,
                **{column: group[column] for column in EVIDENCE},
            )
            for number, (group, each, name) in enumerate(
                zip(groups, members, names, strict=True), start=1
            )
        ),
        batch_size=BATCH,
    )
    return analysis


def _left_out(snapshot: CorrelationSnapshot) -> dict[str, Any]:
    """Return what was not searched of what is measured."""
    return {
        "wrong_clock": snapshot.wrong_clock,
        "unreported": snapshot.unreported,
        "shortened": snapshot.shortened,
    }


def _moment(at_s: float) -> datetime | None:
    """Return the time; None where a recording counts its seconds from nowhere in the calendar."""
    try:
        return datetime.fromtimestamp(at_s, UTC)
    except (ValueError, OverflowError, OSError):
        return None
