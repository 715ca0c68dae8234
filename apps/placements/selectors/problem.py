"""Read the placement problem of a topic from the catalogue, with what other topics send.

Publishers without a rate send nothing: they take no part and keep their broker. A broker without a
publish rate takes no part either: whoever is there today counts as placed nowhere. Where lists of
publishers are in force they say who is where, and not the catalogue.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import DecimalField, F, Func, Min, Sum

from apps.catalog.models import Publisher, Quantity, Slo, Topic
from apps.common.errors import ApplicationError, FieldError
from apps.executions.models import Setting
from apps.placements.domain.sentences import named
from apps.systems.models import System
from apps.topology.models import Broker
from weir.actions.assign_publishers import KIND as PUBLISHERS
from weir.codec.placement import delays_to_dict, placement_from_dict
from weir.errors import InvalidProblem
from weir.model.placement import MeasuredDelays, PlacementProblem

CODE = "nothing_to_place"
MOST_ERRORS = 20
DECIMAL = DecimalField(max_digits=1000, decimal_places=400)


@dataclass(frozen=True, slots=True)
class Sender:
    """Hold one publisher with a rate, as the catalogue has it."""

    name: str
    rate_per_s: float
    group: str | None
    broker: str | None
    pinned: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Former:
    """Hold what is known from the placement in force."""

    placement: str
    """Its public id."""
    delays: Mapping[str, MeasuredDelays]
    """What was measured at each broker; those of brokers without a publish rate are left out."""
    speeds_per_s: Mapping[str, float]
    """What brokers process, msg/s, as rounds before showed."""


def placement_problem(
    system: System,
    topic: Topic,
    drained_brokers: Iterable[Broker] = (),
    former: Former | None = None,
) -> PlacementProblem:
    """Return the problem of this topic, with what was measured of a former placement of it. Raises
    ApplicationError naming the field and what to do.

    Read under the system's row lock; topic and brokers are read again, so that all is one version.
    """
    topic = _now(system, topic)
    contract = _contract(topic)
    lists = _lists(system)
    senders = _senders(topic)
    brokers = _brokers(system)
    rates = {
        broker.name: broker.publish_rate_max_per_s
        for broker in brokers
        if broker.publish_rate_max_per_s is not None
    }
    if not rates:
        raise _refused(
            "system",
            f"No broker of {system} has a publish rate. Give each broker that may take publishers "
            "how many messages per second it takes.",
        )
    drained = _drained({broker.pk for broker in drained_brokers}, brokers)
    _check_pins(senders, rates, drained)
    allocated = _allocated(system, topic, lists)
    targets = targets_of(topic)
    plain = {
        "topic": {
            "id": topic.name,
            "rate": _rate(senders),
            **contract,
            "slo_p99_s": targets.get(Quantity.DELAY_P99_S),
            "slo_mean_s": targets.get(Quantity.DELAY_MEAN_S),
        },
        "brokers": [
            {
                "id": name,
                "max_rate": rate,
                "allocated_rate": allocated.get(name, 0.0),
                "drained": name in drained,
                "speed": former.speeds_per_s.get(name) if former else None,
            }
            for name, rate in rates.items()
        ],
        "publishers": [
            {"id": sender.name, "rate": sender.rate_per_s, "group": sender.group}
            for sender in senders
        ],
        "pins": {sender.name: sender.broker for sender in senders if sender.pinned},
        "previous": _today(senders, lists.get(topic.name, {})),
        **_measured(former, with_means=Quantity.DELAY_MEAN_S in targets),
    }
    try:
        return placement_from_dict(plain)
    except InvalidProblem as error:
        raise ApplicationError.of_problem(error) from error


def _refused(field: str, message: str, errors: Collection[FieldError] = ()) -> ApplicationError:
    return ApplicationError(
        CODE, message, status=409, errors=list(errors) or [FieldError(field=field, message=message)]
    )


def _now(system: System, topic: Topic) -> Topic:
    now = Topic.objects.filter(system=system, pk=topic.pk).first()
    if now is None:
        raise _refused("topic", f"{topic} was deleted. Choose another topic.")
    return now


def _measured(former: Former | None, *, with_means: bool) -> dict[str, Any]:
    """Return what was measured; means only where they count, so that what is frozen of a topic
    without an objective of its mean does not depend on them."""
    if former is None:
        return {}
    measured = {
        name: delays_to_dict(delays if with_means else delays.without_mean())
        for name, delays in former.delays.items()
    }
    return {"measured_of": former.placement, "measured": measured}


def _rate(senders: Iterable[Sender]) -> float:
    """Return what publishers send together."""
    try:
        return math.fsum(sender.rate_per_s for sender in senders)
    except OverflowError as error:
        message = "The publishers' rates add up to more than can be computed with; lower them."
        raise ApplicationError.of_field(
            "publishers", message, code="invalid_problem", status=422
        ) from error


def _contract(topic: Topic) -> dict[str, Any]:
    """Return the topic's token bucket and batch, and its recorded bucket where it has one."""
    rate, bucket = topic.token_rate_per_s, topic.token_bucket
    if rate is None or bucket is None:
        raise _refused(
            "topic",
            f"Give {topic} a token rate and a burst: a placement splits them over brokers.",
        )
    if rate <= 0:
        raise _refused("topic", f"Give {topic} a token rate above 0: no message ever passes.")
    if bucket < 1:
        raise _refused(
            "topic",
            f"Give {topic} a burst of at least 1 message, not {bucket:g}: no message ever passes.",
        )
    contract = {"token_rate": rate, "bucket": bucket, "batch": topic.batch}
    if topic.recorded_bucket is not None:
        contract["recorded_bucket"] = topic.recorded_bucket
    return contract


def _lists(system: System) -> dict[str, dict[str, str]]:
    """Return, for each topic whose publishers have a broker each by lists in force, publisher ->
    broker."""
    lists: dict[str, dict[str, str]] = {}
    rows = Setting.objects.filter(system=system, kind=PUBLISHERS, in_force__isnull=False)
    for target, value in rows.order_by("-target_key").values_list("target", "in_force"):
        at = lists.setdefault(target["flow"], {})
        at.update(dict.fromkeys(value["publishers"], target["broker"]))
    return lists


def _today(senders: Iterable[Sender], listed: Mapping[str, str]) -> dict[str, str]:
    """Return the broker of each sender that has one: the one whose list in force names it, where
    the topic has lists."""
    places = (
        (sender.name, listed.get(sender.name) if listed else sender.broker) for sender in senders
    )
    return {name: broker for name, broker in places if broker}


def _senders(topic: Topic) -> list[Sender]:
    rows = (
        Publisher.objects.filter(topic=topic, rate_per_s__gt=0)
        .order_by()
        .values_list("name", "rate_per_s", "correlation_key__name", "broker__name", "pinned")
    )
    senders = [Sender(*row) for row in rows.iterator(chunk_size=10_000)]
    if senders:
        return senders
    if Publisher.objects.filter(topic=topic).exists():
        raise _refused(
            "topic", f"No publisher of {topic} has a rate. Give one what it sends per second."
        )
    raise _refused("topic", f"{topic} has no publishers. Add who sends on it, and how much.")


def _brokers(system: System) -> list[Broker]:
    rows = Broker.objects.filter(system=system)
    return list(rows.only("name", "publish_rate_max_per_s"))


def _drained(chosen: Collection[int], brokers: Iterable[Broker]) -> set[str]:
    """Return the names of the chosen brokers, which all take publishers."""
    drained = [broker for broker in brokers if broker.pk in chosen]
    without = [broker.name for broker in drained if broker.publish_rate_max_per_s is None]
    if without:
        raise _refused(
            "drained_brokers",
            f"{named(without)}: no publish rate, so nobody is placed there anyway. Leave it out.",
        )
    return {broker.name for broker in drained}


def _check_pins(
    senders: Iterable[Sender], rates: Collection[str], drained: Collection[str]
) -> None:
    pinned = [sender for sender in senders if sender.pinned and sender.broker is not None]
    lost = sorted((s.broker or "", s.name) for s in pinned if s.broker not in rates)
    if lost:
        broker, name = lost[0]
        raise _refused(
            "topic",
            f"{name} is pinned to {broker}, which has no publish rate. Give {broker} one, or unpin "
            f"{named([name for _, name in lost])}.",
            [
                FieldError(
                    field=f"publishers.{name}.pinned", message=f"{broker} has no publish rate."
                )
                for broker, name in lost[:MOST_ERRORS]
            ],
        )
    stuck = sorted((s.broker or "", s.name) for s in pinned if s.broker in drained)
    if stuck:
        names = named([name for _, name in stuck])
        brokers = named(sorted({broker for broker, _ in stuck}))
        raise _refused(
            "drained_brokers",
            f"{names}: pinned to {brokers}, which shall be drained. Unpin, or do not drain "
            f"{brokers}.",
        )


def _allocated(
    system: System, topic: Topic, lists: Mapping[str, Mapping[str, str]]
) -> dict[str, float]:
    """Return what publishers of other topics send at each broker, where lists in force or else the
    catalogue have them.

    Added up as decimal numbers: a sum of floats would depend on the order of the rows.
    """
    others = Publisher.objects.filter(system=system).exclude(topic=topic).order_by()
    exact = Func(F("rate_per_s"), template="(%(expressions)s)::numeric", output_field=DECIMAL)
    sums = (
        others.exclude(topic__name__in=lists)
        .filter(broker__publish_rate_max_per_s__isnull=False)
        .values_list("broker__name")
        .annotate(rate=Sum(exact))
    )
    rates: dict[str, Decimal] = dict(sums)
    listed = others.filter(topic__name__in=lists, rate_per_s__gt=0)
    for name, flow, rate in listed.values_list("name", "topic__name", exact).iterator():
        broker = lists[flow].get(name)
        if broker is not None:
            rates[broker] = rates.get(broker, Decimal(0)) + rate
    return {name: float(rate) for name, rate in rates.items()}


def targets_of(topic: Topic) -> dict[str, float]:
    """Return the smallest target of each delay that something is promised of."""
    slos = Slo.objects.filter(
        topic=topic, quantity__in=(Quantity.DELAY_P99_S, Quantity.DELAY_MEAN_S)
    )
    rows = slos.order_by().values_list("quantity").annotate(least=Min("target"))
    return {quantity: float(least) for quantity, least in rows}
