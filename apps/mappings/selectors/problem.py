"""Read the mapping problem of a system from the catalogue.

Rows are read as plain values into arrays, in a handful of statements: a million interests take
seconds.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Count, Exists, OuterRef, Q
from numpy.typing import NDArray

from apps.catalog.models import Group, Interest, Stream, Subscriber, Topic
from apps.common.errors import ApplicationError
from apps.executions.models import Setting
from apps.mappings.models import MappingSettings
from apps.mappings.selectors.settings import settings_of
from apps.systems.models import System
from weir.actions.set_flow_rate import KIND as RATE
from weir.errors import InvalidProblem
from weir.model.mapping import (
    NOWHERE,
    FormerMap,
    Interests,
    MappingProblem,
    Moving,
    Weights,
)
from weir.reading import LARGEST_NUMBER, SMALLEST_NUMBER, amount, member_path

CODE = "nothing_to_map"

Ints = NDArray[np.int64]


def mapping_problem(system: System) -> MappingProblem:
    """Return the problem of this system as it is now. Raises ApplicationError naming what does not
    fit and what to do.

    Read under the system's row lock, so that all is one version.
    """
    if because := _why_not(system):
        raise ApplicationError.of_field("system", because, code=CODE, status=409, detail=because)
    keys, flows, rates_per_s, stream_of, pinned_stream = _flows(system)
    group_of, pinned_group = _streams(system)
    users = sorted(
        Subscriber.objects.filter(system=system).order_by().values_list("pk", "name"),
        key=itemgetter(1),
    )
    grouped = np.append(group_of, NOWHERE) != NOWHERE  # NOWHERE, which is -1, finds the last
    stream_of = np.where(grouped[stream_of], stream_of, NOWHERE)
    is_mapped = bool(np.any(stream_of != NOWHERE))
    settings = settings_of(system)
    return MappingProblem(
        flows=flows,
        rates_per_s=rates_per_s,
        users=tuple(name for _, name in users),
        interests=_interests(system, keys, _array(pk for pk, _ in users)),
        max_streams=len(group_of),
        max_groups=Group.objects.filter(system=system).count(),
        weights=Weights(
            transport=settings.transport,
            messaging=settings.messaging,
            aggregation=settings.aggregation,
        ),
        pinned_stream=pinned_stream,
        pinned_group=pinned_group,
        former=FormerMap(stream_of=stream_of, group_of=group_of) if is_mapped else None,
        move_cost=_charge(settings.flow_move_work, settings),
        stream_move_cost=_charge(settings.stream_move_work, settings),
        moving=Moving(
            flow_work=settings.flow_move_work,
            stream_work=settings.stream_move_work,
            horizon_s=settings.horizon_s,
            flows_per_s=settings.flows_per_s,
        ),
    )


def map_of_catalogue(system: System, problem: MappingProblem) -> FormerMap:
    """Return where the catalogue has the flows and streams of a problem of this very version:
    streams without a group, and their flows, too."""
    streams = dict(Topic.objects.filter(system=system).values_list("name", "stream__number"))
    return FormerMap(
        stream_of=_numbers(streams[name] for name in problem.flows), group_of=_streams(system)[0]
    )


def mappable(system: System) -> dict[str, Any]:
    """Return how much there is to map, and why it cannot be."""
    wanted = Exists(Interest.objects.filter(topic=OuterRef("pk")))
    topics = Topic.objects.filter(system=system).order_by()
    return {
        **topics.aggregate(
            flows=Count("pk"),
            wanted_flows=Count("pk", filter=Q(wanted)),
            mapped_flows=Count("pk", filter=Q(wanted) & Q(stream__group__isnull=False)),
            pinned_flows=Count("pinned_stream"),
        ),
        **Stream.objects.filter(system=system).aggregate(
            streams=Count("pk"), pinned_streams=Count("pinned_group")
        ),
        "groups": Group.objects.filter(system=system).count(),
        "users": Subscriber.objects.filter(system=system).count(),
        "interests": Interest.objects.filter(topic__system=system).count(),
        "because": _why_not(system),
    }


def _why_not(system: System) -> str:
    """Return why nothing can be mapped, and what to do; empty: it can."""
    if not Topic.objects.filter(system=system).exists():
        return f"{system} has no topics yet. Add the topics that streams shall carry."
    if not Subscriber.objects.filter(system=system).exists():
        return f"{system} has no subscribers yet. Add subscribers with the topics that they want."
    if not Interest.objects.filter(topic__system=system).exists():
        return f"No subscriber of {system} wants a topic. Give subscribers the topics they want."
    for model, carried in ((Stream, "its topics"), (Group, "its streams")):
        rows = model.objects.filter(system=system).order_by("number")
        numbers = list(rows.values_list("number", flat=True))
        plural = model._meta.verbose_name_plural
        if not numbers:
            return (
                f"{system} has no {plural} yet. Add {plural}, numbered from 0, to carry {carried}."
            )
        # Numbers are unique: there is a gap where the last is not the number of those before.
        if numbers[-1] >= len(numbers):
            missing = next(at for at, number in enumerate(numbers) if number != at)
            noun = model._meta.verbose_name
            return (
                f"No {noun} has the number {missing}; {plural} are numbered from 0 without gaps. "
                f"Add it, or give its number to {noun} {numbers[-1]}."
            )
    return ""


def _flows(
    system: System,
) -> tuple[Ints, tuple[str, ...], NDArray[np.float64], Ints, Ints]:
    """Return keys, names in order, rates, streams and pins of all topics."""
    rows = Topic.objects.filter(system=system).order_by()
    columns = ("pk", "name", "rate_max_per_s", "stream__number", "pinned_stream__number")
    keys, names, declared, streams, pins = zip(
        *sorted(rows.values_list(*columns), key=itemgetter(1)), strict=True
    )
    in_force = _rates_in_force(system)
    rates_per_s = np.array(declared, dtype=np.float64) + 0.0  # -0.0 becomes 0.0
    if in_force:
        place = {name: at for at, name in enumerate(names)}
        for name, rate in in_force.items():
            if name in place:
                rates_per_s[place[name]] = rate
    _check_rates(names, rates_per_s)
    return _array(keys), names, rates_per_s, _numbers(streams), _numbers(pins)


def _rates_in_force(system: System) -> dict[str, float]:
    """Return what plans in force let pass of each flow that they limit, msg/s."""
    rates_per_s: dict[str, float] = defaultdict(float)
    rows = Setting.objects.filter(system=system, kind=RATE, in_force__isnull=False)
    for target, value in rows.values_list("target", "in_force"):
        rates_per_s[target["flow"]] += float(value["rate_per_s"])
    return rates_per_s


def _check_rates(names: Sequence[str], rates_per_s: NDArray[np.float64]) -> None:
    """Raise ApplicationError for the first topic with a rate that cannot be computed with."""
    beyond = (rates_per_s > LARGEST_NUMBER) | ((rates_per_s > 0) & (rates_per_s < SMALLEST_NUMBER))
    for at in np.flatnonzero(beyond)[:1].tolist():
        try:
            path = f"{member_path('topics', names[at])}.rate_max_per_s"
            amount(float(rates_per_s[at]), path)
        except InvalidProblem as error:
            raise ApplicationError.of_problem(error) from error


def _streams(system: System) -> tuple[Ints, Ints]:
    """Return groups and pins of all streams, which are numbered without gaps."""
    rows = Stream.objects.filter(system=system).order_by("number")
    groups, pins = zip(*rows.values_list("group__number", "pinned_group__number"), strict=True)
    return _numbers(groups), _numbers(pins)


def _interests(system: System, topics: Ints, subscribers: Ints) -> Interests:
    """Return who wants what; topics and subscribers are keys in the order of their names."""
    rows = list(
        Interest.objects.filter(topic__system=system)
        .order_by()
        .values_list("topic_id")
        .annotate(wanted_by=ArrayAgg("subscriber_id"))
    )
    flows = _places(topics, _array(topic for topic, _ in rows))
    audiences = _array(len(wanted_by) for _, wanted_by in rows)
    users = _places(subscribers, _array(chain.from_iterable(wanted_by for _, wanted_by in rows)))
    pairs = np.repeat(flows, audiences) * len(subscribers) + users
    pairs.sort()
    counts = np.bincount(pairs // len(subscribers), minlength=len(topics))
    return Interests(
        starts=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        users=(pairs % len(subscribers)).astype(np.int32),
        user_count=len(subscribers),
    )


def _places(keys: Ints, wanted: Ints) -> Ints:
    """Return where among the keys, each of which is there once, the wanted ones stand."""
    order = np.argsort(keys, kind="stable")
    places: Ints = order[np.searchsorted(keys, wanted, sorter=order)]
    return places


def _array(values: Iterable[int]) -> Ints:
    return np.fromiter(values, dtype=np.int64)


def _numbers(values: Iterable[int | None]) -> Ints:
    """Return numbers of streams or groups; NOWHERE where there is none."""
    return _array(NOWHERE if value is None else value for value in values)


def _charge(work: float, settings: MappingSettings) -> float:
    """Return what a move is charged so that it pays within the horizon, work/s."""
    charge = work / settings.horizon_s
    return charge if charge >= SMALLEST_NUMBER else 0.0
