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

from apps.catalog.models import CorrelationKey, Publisher
from apps.correlation.domain.names import alternatives
from apps.correlation.models import CorrelationAnalysis, Suggestion
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

REJECTED = """
WITH ours AS (
    SELECT s.id, s.size, m.name
    FROM correlation_suggestion s
    CROSS JOIN LATERAL jsonb_array_elements_text(s.members) AS m(name)
    WHERE s.id = ANY(%s)
), theirs AS (
    SELECT r.id, r.size, r.decided_at, m.name
    FROM correlation_suggestion r
    JOIN correlation_correlationanalysis a ON a.id = r.analysis_id
    CROSS JOIN LATERAL jsonb_array_elements_text(r.members) AS m(name)
    WHERE a.topic_id = %s AND r.state = 'rejected'
)
SELECT ours.id, theirs.id
FROM ours JOIN theirs ON theirs.name = ours.name AND theirs.id <> ours.id
WHERE theirs.size * 5 >= ours.size * 4 AND ours.size * 5 >= theirs.size * 4
GROUP BY ours.id, ours.size, theirs.id, theirs.size, theirs.decided_at
HAVING count(*) * 5 >= greatest(ours.size, theirs.size) * 4
ORDER BY ours.id, theirs.decided_at, theirs.id
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

    @property
    def same_as_key(self) -> str:
        """Return the key that all of them in the catalogue carry; empty where there is none."""
        alone = len(self.keys_now) == 1 and not self.without_key
        return str(self.keys_now[0]["name"]) if alone else ""


def without_members(analysis: CorrelationAnalysis) -> QuerySet[Suggestion]:
    """Return the suggestions of an analysis without their members, which may be many."""
    rows = Suggestion.objects.select_related("decided_by").defer("members", "applied")
    return rows.filter(analysis=analysis)


def facts_of(
    analysis: CorrelationAnalysis, suggestions: Iterable[Suggestion]
) -> Mapping[int, Facts]:
    """Return the facts of suggestions of one analysis by their keys, in a fixed number of
    queries."""
    rows = list(suggestions)
    facts = {row.pk: Facts() for row in rows}
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


def _rejected(topic_id: int, keys: Sequence[int]) -> dict[int, Suggestion]:
    """Return the latest rejected suggestion that says nearly the same, by suggestion."""
    with connection.cursor() as cursor:
        cursor.execute(REJECTED, [list(keys), topic_id])
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
