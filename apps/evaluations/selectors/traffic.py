"""Read which broker sends how much of each topic to which brokers: measured, or else from the
model."""

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache

from django.db.models import Count
from django.utils import timezone

from apps.catalog.models import ConsumerClass, Interest, Publisher, Topic
from apps.common.formatting import counted, figure
from apps.evaluations.models import TrafficSource
from apps.executions.models import Setting
from apps.runs.models import RunResult
from apps.systems.models import System
from apps.telemetry.models import Sample
from apps.telemetry.selectors.measured import Payload, means
from apps.topology.models import OverlayEdge
from weir.lifecycle.runs import RunState
from weir.model.evaluation import Traffic

DEFAULT_WINDOW_S = 60.0
LONGEST_WINDOW_S = 1800.0
"""The longest window: samples are kept for half an hour."""

Rates = dict[str, dict[str, float]]
"""Topic -> broker -> messages per second, or consumers."""
Counts = dict[str, dict[str, int]]
"""Topic -> broker -> consumers and subscribers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficReading:
    """Hold the traffic, and where its rates come from."""

    source: TrafficSource
    detail: str
    window_s: float
    topics: tuple[Traffic, ...]
    subscribers: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Topic -> broker -> number of consumers and subscribers there."""

    @property
    def published_per_s(self) -> float:
        """Return what all publishers send, in msg/s."""
        return sum(rate for topic in self.topics for rate in topic.published.values())

    @property
    def crossing(self) -> int:
        """Return the number of topics that some other broker wants than the one that publishes
        them."""
        return sum(
            1
            for topic in self.topics
            if any(topic.published.values()) and len({*topic.published, *topic.interested}) > 1
        )

    def summary(self) -> dict[str, object]:
        """Return what an evaluation stores of it."""
        return {
            "source": self.source.value,
            "detail": self.detail,
            "window_s": self.window_s,
            "flows": self.crossing,
            "published_per_s": self.published_per_s,
        }

    def pairs(self) -> dict[tuple[str, str], float]:
        """Return the messages per second by publishing broker and broker that wants them."""
        rates: dict[tuple[str, str], float] = defaultdict(float)
        for topic in self.topics:
            for at, rate in topic.published.items():
                for to in topic.interested:
                    if to != at and rate > 0:
                        rates[at, to] += rate
        return dict(rates)


def traffic_now(
    system: System,
    *,
    window_s: float = DEFAULT_WINDOW_S,
    without: frozenset[str] = frozenset(),
) -> TrafficReading:
    """Return measured rates where every broker of the overlay in force reported in the window, else
    modelled ones.

    `without`: brokers that are gone, of which nobody expects anything.
    """
    since = timezone.now() - timedelta(seconds=window_s)
    samples: dict[str, list[Payload]] = defaultdict(list)
    rows = Sample.objects.filter(broker__system=system, at__gte=since).order_by("at", "id")
    # A broker whose samples are all contradictory measures nothing. Hundreds of samples are read:
    # only what is used of them.
    for broker, interval_s, flows, classes in rows.exclude(payload__has_key="suspect").values_list(
        "broker__name", "payload__interval_s", "payload__flows", "payload__classes"
    ):
        samples[broker].append(
            {"interval_s": interval_s, "flows": flows or {}, "classes": classes or {}}
        )
    members = _members(system) - without
    silent = sorted(members - samples.keys())
    if members and not silent:
        return _measured(system, samples, window_s)
    because = (
        f"{silent[0]} and {len(silent) - 1} more measure nothing now"
        if len(silent) > 1
        else f"{silent[0]} measures nothing now"
        if silent
        else "no overlay is in force"
    )
    return _modelled(system, window_s, because)


def _members(system: System) -> set[str]:
    edges = OverlayEdge.objects.filter(overlay__system=system, overlay__in_force=True)
    return {name for pair in edges.values_list("a__name", "b__name") for name in pair}


def _measured(
    system: System, samples: Mapping[str, list[Payload]], window_s: float
) -> TrafficReading:
    topic_of = dict(ConsumerClass.objects.filter(system=system).values_list("name", "topic__name"))
    published: Rates = defaultdict(dict)
    interested: Rates = defaultdict(dict)
    subscribers: Counts = defaultdict(dict)
    for broker, rows in samples.items():
        for flow, rate in means(rows, "flows", "passed_per_s").items():
            if rate > 0:
                published[flow][broker] = rate
        delivered = means(rows, "classes", "delivered_per_s")
        for name, row in rows[-1]["classes"].items():
            topic, admitted = topic_of.get(name), int(row.get("admitted") or 0)
            if topic is None or not admitted:
                continue
            rates = interested[topic]
            rates[broker] = rates.get(broker, 0.0) + delivered.get(name, 0.0)
            subscribers[topic][broker] = subscribers[topic].get(broker, 0) + admitted
    _add_subscribers(system, published, interested, subscribers)
    count = sum(len(rows) for rows in samples.values())
    return TrafficReading(
        source=TrafficSource.MEASURED,
        detail=f"Means over the last {figure(window_s)} s of {counted(len(samples), 'agent')}, "
        f"{counted(count, 'sample')}.",
        window_s=window_s,
        topics=_topics(published, interested),
        subscribers=subscribers,
    )


def _modelled(system: System, window_s: float, because: str) -> TrafficReading:
    """Return rates in force, else of the latest allocation, else those that publishers declare."""
    rates, limits, origin = _allocated(system)
    sources = Topic.objects.filter(system=system).values_list(
        "name", "source__name", "rate_max_per_s"
    )
    published: Rates = defaultdict(dict)
    senders: Rates = defaultdict(dict)
    placed = Publisher.objects.filter(system=system, broker__isnull=False)
    for topic, at, sends in placed.values_list("topic__name", "broker__name", "rate_per_s"):
        senders[topic][str(at)] = senders[topic].get(str(at), 0.0) + sends
    for topic, source, rate_max in sources:
        shares = senders.get(topic, {})
        total = sum(shares.values())
        rate = rates.get(topic, total or rate_max)
        if total > 0:
            published[topic] = {b: rate * share / total for b, share in shares.items()}
        elif source is not None:
            published[topic] = {source: rate}
    rate_of = {topic: sum(by.values()) for topic, by in published.items()}
    interested: Rates = defaultdict(dict)
    subscribers: Counts = defaultdict(dict)
    for name, topic, broker, wanted in ConsumerClass.objects.filter(system=system).values_list(
        "name", "topic__name", "broker__name", "population_max"
    ):
        admitted = min(wanted, limits.get(name, wanted))
        if admitted:
            rates_at, count = interested[topic], subscribers[topic]
            rates_at[broker] = rates_at.get(broker, 0.0) + admitted * rate_of.get(topic, 0.0)
            count[broker] = count.get(broker, 0) + admitted
    _add_subscribers(system, published, interested, subscribers)
    return TrafficReading(
        source=TrafficSource.MODEL,
        detail=f"From the model, at {origin}: {because}.",
        window_s=window_s,
        topics=_topics(published, interested),
        subscribers=subscribers,
    )


def _add_subscribers(
    system: System, published: Rates, interested: Rates, subscribers: Counts
) -> None:
    """Add who receives topics on streams of the map: agents draw these as they do for consumers."""
    version = System.objects.values_list("model_version", flat=True).get(pk=system.pk)
    for topic, broker, number in _on_streams(system.pk, version):
        rate = sum(published.get(topic, {}).values())
        rates, count = interested[topic], subscribers[topic]
        rates[broker] = rates.get(broker, 0.0) + number * rate
        count[broker] = count.get(broker, 0) + number


@lru_cache(maxsize=8)
def _on_streams(system_id: int, model_version: int) -> tuple[tuple[str, str, int], ...]:
    """Return topic, broker and number of subscribers that receive it there on its stream. Pages ask
    every few seconds, and there may be millions of interests: they are counted once a version."""
    rows = Interest.objects.filter(
        topic__system=system_id,
        topic__stream__group__isnull=False,
        subscriber__broker__isnull=False,
    )
    columns = ("topic__name", "subscriber__broker__name")
    return tuple(rows.order_by().values_list(*columns).annotate(number=Count("pk")))


def _allocated(system: System) -> tuple[dict[str, float], dict[str, int], str]:
    """Return rates by topic, admitted consumers by class, and their source."""
    rows = list(Setting.objects.filter(system=system, in_force__isnull=False))
    rates: dict[str, float] = defaultdict(float)
    for row in rows:
        if row.kind == "set_flow_rate":
            rates[row.target["flow"]] += float(row.in_force["rate_per_s"])
    limits = {
        row.target["class"]: int(row.in_force["limit"])
        for row in rows
        if row.kind == "set_population"
    }
    if rates:
        return rates, limits, "the rates in force"
    last = (
        RunResult.objects.filter(
            run__system=system, run__kind="allocation", run__state=RunState.SUCCEEDED
        )
        .select_related("run")
        .order_by("-run_id")
        .first()
    )
    if last is None:
        return {}, {}, "the rates that publishers declare"
    answer = json.loads(bytes(last.payload))
    return answer["rates"], answer["populations"], f"the rates of {last.run}'s allocation"


def _topics(published: Rates, interested: Rates) -> tuple[Traffic, ...]:
    return tuple(
        Traffic(topic=name, published=published.get(name, {}), interested=interested.get(name, {}))
        for name in sorted({*published, *interested})
    )
