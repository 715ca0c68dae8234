"""Place flows on streams at brokers, as the map in force has them, and find out who has to follow
a move of the map.

A broker sends a flow on its stream where the flow is in a stream with a group, carried, and wanted
by a subscriber that the model has there: as best effort on a subject, a reliable one on a stream of
JetStream. Who names no broker is sent nothing: every broker would have to draw its flows for it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any

from django.db import connection
from django.db.models import Q

from apps.catalog.models import Group, Interest, Stream, Subscriber, Topic
from apps.executions.models import ExecutionAction, Setting
from apps.executions.selectors.flow_map import names_moved
from apps.systems.models import System
from apps.topology.models import Broker
from weir.actions import target_key
from weir.actions.move_flow import KIND as FLOW
from weir.actions.move_stream import KIND as STREAM
from weir.coordination.wire import Delivery, StreamPlace

FOLLOW = "follow_map"
"""The kind of the row among settings that keeps the number by which a broker's places were moved
last: a move and a move back leave a document that says the same, and its agent has to read that."""

Places = dict[str, dict[str, StreamPlace]]
"""Broker -> flow -> its place there."""
BITS = 63
"""How many brokers one number of the database stands for; it has a sign."""


def stream_places(
    system: System, deliveries: Mapping[str, Delivery], brokers: Iterable[str]
) -> Places:
    """Return the places of all mapped flows that are carried at these brokers; the database reads
    the interests, of which there may be millions, once."""
    places: Places = {broker: {} for broker in brokers}
    shared: dict[tuple[int, int], StreamPlace] = {}
    audiences: dict[tuple[int, ...], list[dict[str, StreamPlace]]] = {}
    for flow, group, stream, *blocks in _wanted(system, list(places)):
        if flow not in deliveries:
            continue
        place = shared.get((group, stream))
        if place is None:
            place = shared[group, stream] = StreamPlace(group=group, stream=stream)
        audience = audiences.get(tuple(blocks))
        if audience is None:
            audience = audiences[tuple(blocks)] = list(compress(places.values(), _bits(blocks)))
        for each in audience:
            each[flow] = place
    return {broker: flows for broker, flows in places.items() if flows}


def _wanted(system: System, brokers: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return flow, group and stream of each mapped flow that is wanted at one of these brokers, and
    at which: numbers whose bits stand for the first `BITS` brokers, for the next ones, and so on,
    None for none of them."""
    if not brokers:
        return []
    models = (Interest, Subscriber, Topic, Stream, Group, Broker)
    interest, subscriber, topic, stream, group, broker = (
        connection.ops.quote_name(model._meta.db_table) for model in models
    )
    firsts = range(0, len(brokers), BITS)
    names = [f"of_{first}" for first in firsts]
    bits = [
        [1 << at - first if 0 <= at - first < BITS else None for at in range(len(brokers))]
        for first in firsts
    ]
    with connection.cursor() as cursor:
        # A row for each flow and broker would be sorted out on disk; one for each flow stays in
        # memory, and several processes share the work. Names are joined to what comes of it.
        cursor.execute(
            f"SELECT t.name, g.number, s.number, {', '.join(f'w.{name}' for name in names)} FROM ("
            f"SELECT i.topic_id, {', '.join(f'bit_or(n.{name}) AS {name}' for name in names)} "
            f"FROM {interest} i JOIN {subscriber} u ON u.id = i.subscriber_id "
            f"JOIN {broker} b ON b.id = u.broker_id "
            f"JOIN unnest(%s::text[]{', %s::bigint[]' * len(names)}) "
            f"AS n (name, {', '.join(names)}) ON n.name = b.name "
            "WHERE b.system_id = %s GROUP BY i.topic_id) w "
            f"JOIN {topic} t ON t.id = w.topic_id JOIN {stream} s ON s.id = t.stream_id "
            f"JOIN {group} g ON g.id = s.group_id",
            [list(brokers), *bits, system.pk],
        )
        return list(cursor.fetchall())


def _bits(numbers: Iterable[int | None]) -> Iterator[int]:
    """Return the bits of these numbers, the lowest of each first."""
    return (number >> bit & 1 for each in numbers for number in [each or 0] for bit in range(BITS))


@dataclass(slots=True)
class Followers:
    """The brokers whose agents have to follow the moves of one round. Taken before the moves are
    written; `by_action` compares with what is there afterwards, in a handful of queries."""

    system: System
    brokers: frozenset[str]
    """Those with an agent."""
    rows: list[ExecutionAction]
    """The actions that move."""
    _before: dict[str, tuple[str, StreamPlace | None]] = field(init=False)

    def __post_init__(self) -> None:
        """Read where everything is that the moves are about."""
        names = names_moved(row.action for row in self.rows)
        of_moved = Q(name__in=names[FLOW]) | Q(stream__name__in=names[STREAM])
        self._before = self._places(of_moved)

    def _places(self, which: Q) -> dict[str, tuple[str, StreamPlace | None]]:
        """Return the stream and the place of each of these flows."""
        rows = Topic.objects.filter(which, system=self.system).order_by()
        columns = ("name", "stream__name", "stream__number", "stream__group__number")
        return {
            name: (
                stream or "",
                None if group is None else StreamPlace(group=group, stream=number),
            )
            for name, stream, number, group in rows.values_list(*columns)
        }

    def by_action(self) -> dict[int, dict[str, list[str]]]:
        """Return, by action, each broker that has to follow, with the flows that move there."""
        after = self._places(Q(name__in=self._before))
        changed = {flow for flow, (_, place) in after.items() if self._before[flow][1] != place}
        at = self._audiences(self._sent(changed))
        followers: dict[int, dict[str, list[str]]] = {}
        for row in self.rows:
            for flow in self._moved(row, after, at):
                for broker in at[flow]:
                    followers.setdefault(row.pk, {}).setdefault(broker, []).append(flow)
        return followers

    def _moved(
        self, row: ExecutionAction, after: Mapping[str, Any], at: Mapping[str, Any]
    ) -> list[str]:
        """Return the flows, of those that somebody has to follow, that the action moved."""
        if row.kind == FLOW:
            return [flow for flow in (row.target["flow"],) if flow in at]
        stream = row.target["stream"]
        return sorted(f for f in at if stream in (after[f][0], self._before[f][0]))

    def _sent(self, flows: Iterable[str]) -> list[str]:
        """Return which of the flows are carried."""
        keys = {target_key({"flow": flow}): flow for flow in flows}
        if not keys:
            return []
        rows = Setting.objects.filter(
            system=self.system, kind="carry_flow", target_key__in=keys
        ).values_list("target_key", "desired__delivery")
        return [keys[key] for key, delivery in rows if delivery is not None]

    def _audiences(self, flows: list[str]) -> dict[str, list[str]]:
        """Return, by flow, the brokers that place it; flows that nobody wants are absent."""
        if not flows:
            return {}
        rows = Interest.objects.filter(
            topic__system=self.system, topic__name__in=flows, subscriber__broker__isnull=False
        )
        wanted: dict[str, set[str]] = {}
        for flow, broker in (
            rows.order_by().values_list("topic__name", "subscriber__broker__name").distinct()
        ):
            wanted.setdefault(flow, set()).add(broker)
        audiences = {flow: sorted(self.brokers & names) for flow, names in wanted.items()}
        return {flow: brokers for flow, brokers in audiences.items() if brokers}


def record_number(system: System, followed: Mapping[int, frozenset[str]], number: int) -> None:
    """Record that brokers have to follow moves (by their keys) from the documents of this number
    on; two statements."""
    if not followed:
        return
    ExecutionAction.objects.filter(pk__in=followed).update(asked_number=number)
    targets = [{"broker": broker} for broker in sorted(frozenset().union(*followed.values()))]
    Setting.objects.bulk_create(
        [
            Setting(
                system=system,
                kind=FOLLOW,
                target=target,
                target_key=target_key(target),
                asked_number=number,
            )
            for target in targets
        ],
        update_conflicts=True,
        unique_fields=["system", "kind", "target_key"],
        update_fields=["asked_number", "updated_at"],
    )
