"""Compute what each broker of a system should do, as a pure function of the database.

It is made of settings, which only executions and the rate controller change, of the overlay in
force, of the agents' sessions and of the map in force. Nothing else of the model is read: no other
edit of it changes a document.
`facts_of` reads everything in one consistent look and six queries however many brokers there are,
and one more where a map is in force; `document_of` makes one broker's document of it. A `Stamp` is
equal as long as no document can differ; it costs one query.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Case, Exists, F, OuterRef, Subquery, Sum, When
from django.db.models.functions import Coalesce

from apps.catalog.models import Stream
from apps.common.connections import one_moment
from apps.executions.models import UNDER_WAY_NAMES, ExecutionAction, Revision, Setting
from apps.executions.selectors import edges_in_force
from apps.executions.services.stream_places import stream_places
from apps.systems.models import System
from apps.telemetry.models import Agent
from apps.telemetry.services import is_size
from weir import actions as kinds
from weir.actions.assign_publishers import KIND as PUBLISHERS
from weir.actions.assign_publishers import releases
from weir.actions.set_bucket import COUNT
from weir.coordination import wire
from weir.coordination.publishers import Lists, left_behind, let_in, released
from weir.coordination.views import ActionView, Protocol, orders_of
from weir.lifecycle.steps import ActionState

EVERYWHERE = ""
"""Instead of a broker's name: what concerns all of them, such as how a flow is carried."""


class Stamp(NamedTuple):
    """Identify the documents: equal stamps mean equal documents."""

    revision: int
    sessions: int
    """All sessions ever opened, and all edits of agents: a broker's address or its agent's key may
    be another."""
    access: int
    """Edits of what unmanaged clients may do."""
    retention: int
    """Edits of the retention."""
    model_version: int
    """Edits of the model, of which those of the map and of interests move flows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Hold what the documents of one system are made of; brokers, flows and classes by name."""

    system: str
    deliveries: Mapping[str, wire.Delivery]
    ingress: Mapping[str, frozenset[str]]
    """Broker -> the flows that publishers send to it."""
    classes: Mapping[str, Mapping[str, wire.ClassSpec]]
    """Broker -> its consumer classes, with the limits asked for."""
    gates: Mapping[str, Mapping[str, wire.Gate]]
    """Broker -> the token buckets asked for at its ingress."""
    buckets: Mapping[str, Mapping[str, wire.Bucket]] = field(default_factory=dict)
    """Broker -> its parts of the buckets of flows that enter at several brokers."""
    publishers: Mapping[str, Mapping[str, frozenset[str]]] = field(default_factory=dict)
    """Flow -> broker -> whom it lets in, of the flows whose publishers have a broker each."""
    released: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Flow -> brokers that had a list of it, where its publishers may still be."""
    left: Mapping[str, tuple[frozenset[str], tuple[str, ...]]] = field(default_factory=dict)
    """Flow whose lists have ended -> brokers where its publishers may still be, and those that let
    them in."""
    places: Mapping[str, Mapping[str, wire.StreamPlace]] = field(default_factory=dict)
    """Broker -> the flows of the map in force that somebody may want there, on their streams."""
    model_version: int = 0
    """Of the model that `places` were read from."""
    neighbours: Mapping[str, frozenset[str]]
    sessions: Mapping[str, int]
    """Broker -> incarnation of the session that speaks for it; without revoked agents."""
    addresses: Mapping[str, str]
    """Broker -> where it is reached, of those whose agents speak: neither revoked nor still to
    come under a new credential."""
    keys: Mapping[str, str]
    """Broker -> its agent's public key, of the same."""
    unmanaged: str
    max_message_bytes: int
    """What every broker takes in one message, as their agents say; 0 if none has said so."""
    keep_s: int
    """For how long delivered reliable messages are kept."""
    orders: tuple[wire.Order, ...]
    """Of every participant; `peers[role]` is whom an order is for."""
    number: int = 0
    """Of all these documents."""
    asked: Mapping[str, int] = field(default_factory=dict)
    """Broker (`EVERYWHERE`: all of them) -> the largest number by which one of its settings was
    asked for."""
    held: bool = False
    """Agents have obeyed documents of which this database knows nothing: it sends none."""


def revision_bump(system: System, *, above: int = 0) -> int:
    """Record, within the change's transaction, that documents of the system may differ now. Returns
    their new number, which is above every one before, and above `above`."""
    with connection.cursor() as cursor:
        # One statement, so that two first bumps do not race for the row.
        table = connection.ops.quote_name(Revision._meta.db_table)
        cursor.execute(
            f"INSERT INTO {table} AS r (system_id, number) VALUES (%s, %s) "
            "ON CONFLICT (system_id) DO UPDATE SET number = GREATEST(r.number, %s) + 1 "
            "RETURNING number",
            [system.pk, above + 1, above],
        )
        return int(cursor.fetchone()[0])


def stamp_of(system_pk: int) -> Stamp | None:
    """Return the stamp of the system's documents as of now; None when the system is gone."""
    revision = Revision.objects.filter(system=OuterRef("pk")).values("number")
    sessions = (
        Agent.objects.filter(system=OuterRef("pk"))
        .order_by()
        .values("system")
        .annotate(sum=Sum(F("incarnation") + F("edits")))
        .values("sum")
    )
    row = (
        System.objects.filter(pk=system_pk)
        .values_list(
            Coalesce(Subquery(revision), 0),
            Coalesce(Subquery(sessions), 0),
            "access_version",
            "retention_version",
            "model_version",
        )
        .first()
    )
    return None if row is None else Stamp(*row)


def facts_of(system_pk: int, former: Facts | None = None) -> tuple[Stamp, Facts] | None:
    """Read everything at one consistent moment; None when the system is gone. `former`: an earlier
    look, from which places are taken over as long as the model is the same.

    Read statement by statement, an order from before a commit could meet edges from after it.
    """
    with one_moment():
        stamp = stamp_of(system_pk)
        if stamp is None:
            return None
        if former is not None and former.number > stamp.revision:
            # The database has gone back, and counts versions of the model anew.
            former = None
        mapped = Exists(Stream.objects.filter(system=OuterRef("pk"), group__isnull=False))
        system = System.objects.annotate(is_mapped=mapped).get(pk=system_pk)
        facts = _read(system, former, is_mapped=system.is_mapped)
        return stamp, replace(facts, number=stamp.revision)


def document_of(facts: Facts, broker: str, *, flows: bool = True) -> wire.Document:
    """Return the broker's document, named by the hash of what it says.

    `flows` False: without flows and without a name, the small part that is the broker's own.
    """
    ingress = facts.ingress.get(broker, frozenset())
    document = wire.Document(
        system=facts.system,
        broker=broker,
        version="",
        number=facts.number,
        asked=max(facts.asked.get(broker, 0), facts.asked.get(EVERYWHERE, 0)),
        flows={
            flow: wire.FlowSpec(
                delivery=delivery,
                ingress=flow in ingress,
                max_message_bytes=facts.max_message_bytes if flow in ingress else 0,
                keep_s=facts.keep_s,
            )
            for flow, delivery in facts.deliveries.items()
        }
        if flows
        else {},
        # Also of a flow that does not enter here yet: its gate stands before its first message.
        gates=facts.gates.get(broker, {}),
        buckets=facts.buckets.get(broker, {}),
        publishers=_publishers(facts, broker),
        classes=facts.classes.get(broker, {}),
        places=facts.places.get(broker, {}),
        neighbours={
            # A broker whose agent never came, or may not speak now, is a neighbour all the same:
            # what it wants is unknown, or the same as before, and what may be for it has to wait.
            name: wire.Neighbour(
                address=facts.addresses.get(name, ""), key=facts.keys.get(name, "")
            )
            for name in sorted(facts.neighbours.get(broker, ()))
        },
        unmanaged=facts.unmanaged,
        orders=tuple(order for order in facts.orders if order.peers[order.role] == broker),
    )
    return replace(document, version=version_of(wire.to_dict(document))) if flows else document


def _publishers(facts: Facts, broker: str) -> dict[str, wire.Publishers]:
    """Return the broker's entry of each flow that has one there."""
    entries = {}
    for flow, brokers in facts.publishers.items():
        belongs = broker in brokers
        if not belongs and broker not in facts.released.get(flow, ()):
            continue
        elsewhere = {
            other: tuple(sorted(names))
            for other, names in brokers.items()
            if other != broker and names
        }
        entries[flow] = wire.Publishers(
            here=tuple(sorted(brokers.get(broker, ()))),
            elsewhere=elsewhere,
            addresses={
                other: facts.addresses[other] for other in elsewhere if other in facts.addresses
            },
            next=tuple(other for other in brokers if other != broker) if belongs else (),
        )
    for flow, (former, enters) in facts.left.items():
        if broker in former:
            addresses = {
                other: facts.addresses[other] for other in enters if other in facts.addresses
            }
            entries[flow] = wire.Publishers(everyone=enters, addresses=addresses)
    return entries


def version_of(plain: Mapping[str, Any]) -> str:
    """Return the name of a document in plain form that has none yet. Its number is no part of that:
    who is not concerned by a change need not hear of it."""
    text = json.dumps(
        {**plain, "number": 0}, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    return hashlib.sha256(text.encode()).hexdigest()


def _read(system: System, former: Facts | None, *, is_mapped: bool) -> Facts:
    deliveries: dict[str, wire.Delivery] = {}
    ingress: dict[str, set[str]] = {}
    gates: dict[str, dict[str, wire.Gate]] = {}
    buckets: dict[str, dict[str, wire.Bucket]] = {}
    lists = Lists()
    asked: dict[str, int] = {}
    served: dict[tuple[str, str], str] = {}
    limits: dict[tuple[str, str, str], int] = {}
    rows = Setting.objects.filter(system=system).order_by("kind", "target_key")
    columns = ("kind", "target", "desired", "controlled", "asked_number")
    # Beside lists nobody needs what is in force.
    in_force = Case(When(kind=PUBLISHERS, then=F("in_force")))
    # In one order, so that equal facts are equal texts.
    for kind, target, desired, controlled, number, present in rows.values_list(*columns, in_force):
        value = controlled if controlled is not None else desired
        where = target.get("broker", EVERYWHERE)
        asked[where] = max(asked.get(where, 0), number)
        if kind == PUBLISHERS:
            lists.add(target["flow"], target["broker"], present, desired)
        if value is None:
            continue
        match kind:
            case "carry_flow":
                deliveries[target["flow"]] = wire.Delivery(value["delivery"])
                if value["broker"]:
                    ingress.setdefault(value["broker"], set()).add(target["flow"])
            case "serve_class":
                served[target["broker"], target["class"]] = value["flow"]
            case "set_flow_rate":
                gate = wire.Gate(rate_per_s=float(value["rate_per_s"]), burst=float(value["burst"]))
                gates.setdefault(target["broker"], {})[target["flow"]] = gate
            case "set_bucket":
                buckets.setdefault(target["broker"], {})[target["flow"]] = bucket_of(value)
            case "set_population":
                limits[target["broker"], target["class"], target["flow"]] = int(value["limit"])
    _enter_by_parts(deliveries, ingress, buckets)
    under_way = _under_way(system)
    for row in under_way:
        if row.kind == PUBLISHERS:
            lists.claim(row.target["flow"], row.target["broker"], row.before, row.after)

    classes: dict[str, dict[str, wire.ClassSpec]] = {}
    for (broker, name), flow in served.items():
        spec = wire.ClassSpec(flow=flow, limit=limits.get((broker, name, flow)))
        classes.setdefault(broker, {})[name] = spec

    neighbours: dict[str, set[str]] = {}
    for a, b in edges_in_force(system):
        neighbours.setdefault(a, set()).add(b)
        neighbours.setdefault(b, set()).add(a)

    agents = list(
        Agent.objects.filter(system=system)
        .select_related("broker")
        .only(
            *("system_id", "broker__name", "address", "public_key", "incarnation", "revoked_at"),
            *("lease_until", "served_number", "obeyed_number", "facts"),
        )
    )
    speaking = {agent.broker.name: agent for agent in agents if agent.speaks}
    addresses = {name: agent.address for name, agent in speaking.items() if agent.address}
    keys = {name: agent.public_key for name, agent in speaking.items() if agent.public_key}
    # Of all brokers, not of those on today's way: a shift may lead a flow anywhere.
    sizes = [a.facts.get("max_payload_bytes") for a in agents if a.revoked_at is None]
    sessions = {a.broker.name: a.incarnation for a in agents if a.revoked_at is None}
    publishers = let_in(lists, deliveries, ingress, buckets)
    return Facts(
        system=system.name,
        deliveries=deliveries,
        ingress={broker: frozenset(flows) for broker, flows in ingress.items()},
        classes=classes,
        gates=gates,
        buckets=buckets,
        publishers=publishers,
        released=released(lists, publishers),
        left=left_behind(lists, deliveries, ingress),
        neighbours={broker: frozenset(names) for broker, names in neighbours.items()},
        places=_places(system, former, deliveries, sessions) if is_mapped and sessions else {},
        model_version=system.model_version,
        sessions=sessions,
        addresses=addresses,
        keys=keys,
        unmanaged=system.unmanaged,
        max_message_bytes=min((size for size in sizes if is_size(size)), default=0),
        keep_s=system.retention_s,
        orders=tuple(
            order
            for row in under_way
            for order in orders_of(action_view(row), addresses, keys).values()
        ),
        asked=asked,
        held=any(agent.is_ahead for agent in agents),
    )


def _places(
    system: System,
    former: Facts | None,
    deliveries: Mapping[str, wire.Delivery],
    sessions: Mapping[str, int],
) -> Mapping[str, Mapping[str, wire.StreamPlace]]:
    """Return where flows are at each broker with an agent. Most looks are at the same model: what
    was read then is the same object, which costs nothing to compare either."""
    if (
        former is not None
        and former.model_version == system.model_version
        and former.deliveries == deliveries
        and former.sessions.keys() == sessions.keys()
    ):
        return former.places
    return stream_places(system, deliveries, sessions)


CLOSED = wire.Bucket(rate_per_s=0.0, size=0.0)


def _enter_by_parts(
    deliveries: Mapping[str, wire.Delivery],
    ingress: dict[str, set[str]],
    buckets: dict[str, dict[str, wire.Bucket]],
) -> None:
    """Let flows enter where they have a part of their bucket; once a part is enforced, nowhere
    else. Parts of flows that are carried no more are left out."""
    for broker in list(buckets):
        buckets[broker] = {f: part for f, part in buckets[broker].items() if f in deliveries}
        for flow, part in buckets[broker].items():
            if part.rate_per_s > 0:
                ingress.setdefault(broker, set()).add(flow)
    split = {
        flow for parts in buckets.values() for flow, part in parts.items() if not part.count_only
    }
    for broker, flows in ingress.items():
        for flow in sorted(flows & split):
            # Its source, which `carry_flow` names, may have no part: there it is closed.
            if buckets.setdefault(broker, {}).setdefault(flow, CLOSED).rate_per_s == 0:
                flows.discard(flow)


def bucket_of(value: Mapping[str, Any]) -> wire.Bucket:
    """Return the part of a bucket that a setting asks for."""
    return wire.Bucket(
        rate_per_s=float(value["rate_per_s"]),
        size=float(value["size"]),
        count_only=value["mode"] == COUNT,
    )


def _under_way(system: System) -> list[ExecutionAction]:
    # Of ended executions too: what was committed stays ordered until everybody has switched.
    rows = ExecutionAction.objects.filter(step__execution__system=system, state__in=UNDER_WAY_NAMES)
    return list(rows.order_by("id"))


def action_view(row: ExecutionAction) -> ActionView:
    """Return the action as far as its own row says: without what agents have reported and
    observed."""
    action = row.action
    protocol = Protocol(kinds.protocol(action))
    return ActionView(
        id=str(row.public_id),
        protocol=protocol,
        kind=row.kind,
        state=ActionState(row.state),
        participants=dict(kinds.roles(action)) if protocol is Protocol.TREE else {},
        attempt=row.attempt,
        deadline=None if row.deadline_at is None else row.deadline_at.timestamp(),
        interests={role: tuple(flows) for role, flows in row.interests.items()},
        final=kinds.is_final(action),
        title=kinds.title(action),
        detail=row.detail,
        by_hand=row.by_hand,
        releases=row.kind == PUBLISHERS and releases(action),
    )
