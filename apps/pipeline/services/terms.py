"""Keep what objectives promise, and since when: an edit of a promise begins a new budget.

When a promise was edited last says the history, which tells such edits from those of names and
labels, and knows of two that took each other back. It is read where a version has changed.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from django.db import connection
from django.db.models import Max

from apps.audit.models import AuditEntry
from apps.catalog.models import Slo
from apps.pipeline.domain.steps import MINUTE_S
from apps.pipeline.models import ChangedMinute, DelaySum, JudgedMinute, MeasuredSum, ObjectiveTerm
from apps.systems.models import System

_PROMISE = ("topic", "quantity", "target", "objective", "window_s")
_VERSIONS = ("slo_version", "topic_version")


Terms = dict[str, list[tuple[ObjectiveTerm, str]]]
"""By topic: what is promised of it, with its pattern."""


def terms_of(system: System) -> Terms:
    """Return what the objectives of a system promise.

    One whose promise was edited begins anew: with the first whole minute after the last edit of it,
    or of the name of its topic.
    """
    slos = list(Slo.objects.filter(system=system).select_related("topic", "term").order_by("pk"))
    # Read first: one that is made for the objective takes its place there.
    before: dict[int, ObjectiveTerm] = {slo.pk: slo.term for slo in slos if hasattr(slo, "term")}
    changed = [slo for slo in slos if not _is_of(before.get(slo.pk), slo)]
    begins_s = _begins_s(changed)
    fresh: list[ObjectiveTerm] = []
    terms: Terms = defaultdict(list)
    for slo in slos:
        term = before.get(slo.pk) or ObjectiveTerm(slo=slo)
        if slo.pk in begins_s and _promises(term, slo, begins_s[slo.pk]):
            fresh.append(term)
        terms[term.topic].append((term, slo.topic.pattern))
    ObjectiveTerm.objects.bulk_create(
        [term for of_topic in terms.values() for term, _ in of_topic if term.slo_id in begins_s],
        update_conflicts=True,
        unique_fields=["slo"],
        update_fields=[*_PROMISE, *_VERSIONS, "since_s", "stood_s"],
    )
    if fresh:
        JudgedMinute.objects.filter(slo__in=[term.slo_id for term in fresh]).delete()
        _note_all(system, fresh)
    return terms


def _is_of(term: ObjectiveTerm | None, slo: Slo) -> bool:
    """Return whether a term was worked out for these versions, of this topic."""
    if term is None or term.topic != slo.topic.name:
        return False
    return (term.slo_version, term.topic_version) == (slo.version, slo.topic.version)


def _promises(term: ObjectiveTerm, slo: Slo, since_s: int) -> bool:
    """Take over what an objective promises now; return whether that begins anew."""
    promise = {
        "topic": slo.topic.name,
        "quantity": slo.quantity,
        "target": slo.target,
        "objective": slo.objective,
        "window_s": slo.window_s,
    }
    term.slo_version, term.topic_version = slo.version, slo.topic.version
    same = all(getattr(term, name) == value for name, value in promise.items())
    if same and term.since_s is not None and since_s <= term.since_s:
        return False
    for name, value in promise.items():
        setattr(term, name, value)
    # How it stands is that of another promise.
    term.since_s, term.stood_s = since_s, 0
    return True


def _begins_s(slos: Sequence[Slo]) -> dict[int, int]:
    """Return by objective when the first whole minute of its promise begins, Unix seconds."""
    promised = _last_edits([slo.public_id for slo in slos], _PROMISE)
    named = _last_edits({slo.topic.public_id for slo in slos}, ("name",))
    begins_s = {}
    for slo in slos:
        at = promised.get(slo.public_id, slo.created_at)
        at = max(at, named.get(slo.topic.public_id, at))
        begins_s[slo.pk] = -(-int(at.timestamp() * 1e6) // (MINUTE_S * 1_000_000)) * MINUTE_S
    return begins_s


def _last_edits(objects: Iterable[UUID], members: Iterable[str]) -> dict[UUID, datetime]:
    """Return when each object was edited last so that one of the members changed, or made."""
    rows = AuditEntry.objects.filter(object_id__in=objects, after__has_any_keys=members)
    return dict(rows.values_list("object_id").annotate(Max("at")).order_by())


def _note_all(system: System, terms: Sequence[ObjectiveTerm]) -> None:
    """Note all minutes of terms that are in the sums: what was added before they were known."""
    sources = " UNION ".join(
        f"SELECT since_s, topic FROM {model._meta.db_table}"
        " JOIN unnest(%(since_s)s::bigint[], %(topics)s::text[]) AS term (first_s, topic)"
        " USING (topic) WHERE system_id = %(system)s AND since_s >= first_s"
        for model in (DelaySum, MeasuredSum)
    )
    with connection.cursor() as cursor:
        # In the order of `note_changes`, for the same reason.
        cursor.execute(
            f"""
            INSERT INTO {ChangedMinute._meta.db_table} AS old (system_id, since_s, topic)
            SELECT %(system)s, since_s, topic FROM ({sources}) AS known ORDER BY since_s, topic
            ON CONFLICT (system_id, since_s, topic) DO NOTHING
            """,
            {
                "system": system.pk,
                "since_s": [term.since_s for term in terms],
                "topics": [term.topic for term in terms],
            },
        )
