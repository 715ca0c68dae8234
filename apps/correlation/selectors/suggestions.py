"""Read what the catalogue says of suggested publishers now, and what was decided before.

Members are names, because a recording knows no more. They are joined with the catalogue in the
database: a group may have tens of thousands.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import connection
from django.db.models import Count, Q, QuerySet
from django.db.models.expressions import RawSQL
from django.db.models.fields.json import KT

from apps.audit.models import AuditEntry
from apps.catalog.models import CorrelationKey, Publisher
from apps.correlation.domain.names import alternatives
from apps.correlation.models import CorrelationAnalysis, Suggestion
from apps.systems.models import System
from weir.lifecycle.suggestions import SuggestionState as State

KEYS = """
SELECT s.id, k.name, count(*)
FROM correlation_suggestion s
CROSS JOIN LATERAL jsonb_array_elements_text(s.members) AS m(name)
JOIN catalog_publisher p ON p.system_id = %s AND p.topic_id = %s AND p.name = m.name
LEFT JOIN catalog_correlationkey k ON k.id = p.correlation_key_id
WHERE s.id = ANY(%s)
GROUP BY s.id, k.name
ORDER BY s.id, count(*) DESC, k.name
"""

UNDO = """
SELECT s.id, count(*), count(k.id), count(k.id) FILTER (WHERE g.former <> ''),
    (s.applied ->> 'made')::boolean AND max(e.carrying) = count(k.id)
FROM correlation_suggestion s
CROSS JOIN LATERAL jsonb_each_text(s.applied -> 'publishers') AS g(publisher, former)
LEFT JOIN catalog_publisher p ON p.public_id = g.publisher::uuid AND p.system_id = %s
LEFT JOIN catalog_correlationkey k
    ON k.id = p.correlation_key_id AND k.public_id = (s.applied ->> 'key')::uuid
LEFT JOIN LATERAL (
    SELECT count(*) AS carrying FROM catalog_publisher c
    JOIN catalog_correlationkey t ON t.id = c.correlation_key_id
    WHERE t.public_id = (s.applied ->> 'key')::uuid
) e ON true
WHERE s.id = ANY(%s)
GROUP BY s.id
"""
"""What an acceptance gave and who carries it still: publishers, those of them, those of these that
had another key before, and whether the key goes."""

REJECTED = """
WITH pairs AS (
    SELECT o.id AS ours, r.id AS theirs, greatest(o.size, r.size) AS size, r.decided_at
    FROM correlation_suggestion o
    JOIN correlation_suggestion r ON r.id <> o.id AND r.state = 'rejected'
        AND r.size * 5 >= o.size * 4 AND o.size * 5 >= r.size * 4
    JOIN correlation_correlationanalysis a ON a.id = r.analysis_id AND a.topic_id = %s
    WHERE o.id = ANY(%s)
), names AS MATERIALIZED (
    SELECT s.id, m.name
    FROM correlation_suggestion s
    CROSS JOIN LATERAL jsonb_array_elements_text(s.members) AS m(name)
    WHERE s.id IN (SELECT ours FROM pairs UNION SELECT theirs FROM pairs)
)
SELECT pairs.ours, pairs.theirs
FROM pairs
JOIN names AS o ON o.id = pairs.ours
JOIN names AS r ON r.id = pairs.theirs AND r.name = o.name
GROUP BY pairs.ours, pairs.theirs, pairs.size, pairs.decided_at
HAVING count(*) * 5 >= pairs.size * 4
ORDER BY pairs.ours, pairs.decided_at, pairs.theirs
"""
"""Rejected suggestions of the topic that have at least four of five members in common with one,
the latest last."""


@dataclass(slots=True, kw_only=True)
class Facts:
    """Hold what is known of one suggestion as of now."""

    name: str = ""
    in_catalogue: int = 0
    keys_now: list[dict[str, Any]] = field(default_factory=list)
    without_key: int = 0
    rejected_before: Suggestion | None = None
    model_version: int = 0
    """That of the model when this was read; it may be older than what is said, never newer."""
    undo: dict[str, Any] | None = None
    """What taking the acceptance back would change; None where it is not accepted."""

    @property
    def same_as_key(self) -> str:
        """Return the key that all of them in the catalogue carry; empty where there is none."""
        alone = len(self.keys_now) == 1 and not self.without_key
        return str(self.keys_now[0]["name"]) if alone else ""


def with_key(rows: QuerySet[Suggestion]) -> QuerySet[Suggestion]:
    """Return suggestions with `key_id`, the public id of the key that was given, read without what
    else an acceptance changed."""
    return rows.annotate(key_id=KT("applied__key"))


def without_members(analysis: CorrelationAnalysis) -> QuerySet[Suggestion]:
    """Return the suggestions of an analysis without their members, which may be many."""
    rows = with_key(Suggestion.objects.select_related("decided_by").defer("members", "applied"))
    return rows.filter(analysis=analysis)


def facts_of(
    analysis: CorrelationAnalysis, suggestions: Iterable[Suggestion]
) -> Mapping[int, Facts]:
    """Return the facts of suggestions of one analysis by their keys, in a fixed number of
    queries."""
    rows = list(suggestions)
    # Before all else: whoever decides by this must not miss what changes while it is read.
    version = System.objects.values_list("model_version", flat=True).get(pk=analysis.system_id)
    facts = {row.pk: Facts(model_version=version) for row in rows}
    _add_undo(analysis, rows, facts)
    for pk, name in _names(analysis, rows).items():
        facts[pk].name = name
    if analysis.topic_id is None or not rows:
        return facts
    with connection.cursor() as cursor:
        cursor.execute(KEYS, [analysis.system_id, analysis.topic_id, list(facts)])
        for pk, key, count in cursor.fetchall():
            facts[pk].in_catalogue += count
            if key is None:
                facts[pk].without_key = count
            else:
                facts[pk].keys_now.append({"name": key, "publishers": count})
    still_open = [row.pk for row in rows if row.state == State.OPEN]
    if still_open:
        for pk, rejected in _rejected(analysis.topic_id, still_open).items():
            facts[pk].rejected_before = rejected
    return facts


def _add_undo(
    analysis: CorrelationAnalysis, rows: Sequence[Suggestion], facts: Mapping[int, Facts]
) -> None:
    """Add what taking each acceptance back would change."""
    accepted = [row.pk for row in rows if row.state == State.ACCEPTED]
    if not accepted:
        return
    with connection.cursor() as cursor:
        cursor.execute(UNDO, [analysis.system_id, accepted])
        for pk, given, carrying, with_former, goes in cursor.fetchall():
            facts[pk].undo = {
                "publishers": carrying,
                "get_another": with_former,
                "left_alone": given - carrying,
                "key_goes": goes,
            }


def _rejected(topic_id: int, keys: Sequence[int]) -> dict[int, Suggestion]:
    """Return the latest rejected suggestion that says nearly the same, by suggestion."""
    with connection.cursor() as cursor:
        cursor.execute(REJECTED, [topic_id, list(keys)])
        pairs = dict(cursor.fetchall())
    if not pairs:
        return {}
    rows = (
        Suggestion.objects.filter(pk__in=set(pairs.values()))
        .select_related("analysis", "decided_by")
        .defer("members", "applied", "example", "analysis__outcome")
        .in_bulk()
    )
    return {pk: rows[rejected] for pk, rejected in pairs.items()}


def _names(analysis: CorrelationAnalysis, rows: Sequence[Suggestion]) -> dict[int, str]:
    """Return the key that was given, or a name that no key has and no other open suggestion of the
    analysis proposes."""
    names = {row.pk: row.key_name for row in rows if row.key_name}
    wanted = {
        row.pk: list(alternatives(row.proposal, f"{analysis}-{row.number}"))
        for row in rows
        if not row.key_name
    }
    every = {name for each in wanted.values() for name in each}
    if not every:
        return names
    keys = set(
        CorrelationKey.objects.filter(system=analysis.system_id, name__in=every).values_list(
            "name", flat=True
        )
    )
    proposed = dict(
        analysis.suggestions.filter(state=State.OPEN, proposal__in=every).values_list(
            "proposal", "pk"
        )
    )
    for pk, each in wanted.items():
        names[pk] = next(
            (name for name in each if name not in keys and proposed.get(name, pk) == pk), each[-1]
        )
    return names


def members_in_catalogue(suggestion: Suggestion) -> QuerySet[Publisher]:
    """Return the publishers of the topic in the catalogue that the suggestion names."""
    analysis = suggestion.analysis
    named = RawSQL(
        "SELECT jsonb_array_elements_text(members) FROM correlation_suggestion WHERE id = %s",
        [suggestion.pk],
    )
    return Publisher.objects.filter(
        system=analysis.system_id, topic=analysis.topic_id, name__in=named
    )


def keys_moved(suggestion: Suggestion, since: int) -> bool:
    """Return whether a member of the suggestion, as a publisher of the catalogue, or any key of the
    system was changed after this version of the model."""
    system = suggestion.analysis.system
    entries = AuditEntry.objects.filter(system_id=system.public_id, model_version__gt=since)
    if entries.filter(object_kind="correlation_key", action__in=("update", "delete")).exists():
        return True
    named = RawSQL(
        "SELECT jsonb_array_elements_text(members) FROM correlation_suggestion WHERE id = %s",
        [suggestion.pk],
    )
    given = suggestion.applied.get("publishers", {})
    return (
        entries.filter(object_kind="publisher")
        .annotate(former=KT("before__name"))
        .filter(Q(object_name__in=named) | Q(former__in=named) | Q(object_id__in=given))
        .exists()
    )


def members_described(
    analysis: CorrelationAnalysis, names: Collection[str]
) -> list[dict[str, Any]]:
    """Return these members with their publisher in the catalogue and its key."""
    rows = Publisher.objects.filter(
        system=analysis.system_id, topic=analysis.topic_id, name__in=names
    ).values_list("name", "public_id", "correlation_key__name")
    known = {name: (public_id, key or "") for name, public_id, key in rows}
    return [
        {
            "publisher": name,
            "id": known[name][0] if name in known else None,
            "correlation_key": known[name][1] if name in known else "",
        }
        for name in names
    ]


def with_counts(
    analyses: QuerySet[CorrelationAnalysis],
) -> QuerySet[CorrelationAnalysis]:
    """Return the analyses with how many of their suggestions are in each state."""
    return analyses.annotate(
        **{state.value: Count("suggestions", filter=Q(suggestions__state=state)) for state in State}
    )
