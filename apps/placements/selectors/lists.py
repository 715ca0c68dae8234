"""Read the lists of publishers in force, and those that a placement leads to."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from uuid import UUID

from apps.catalog.models import Publisher
from apps.placements.models import Placement
from apps.runs.models import RunResult
from weir.actions import SettingKey, target_of
from weir.actions.assign_publishers import KIND as PUBLISHERS
from weir.model.plan import Value
from weir.placement.handover import Names


def lists_in_force(flow: str, settings: Mapping[SettingKey, Value]) -> dict[str, Names]:
    """Return whom each broker lets in by a list."""
    targets = {key: target_of(key) for key in sorted(settings) if key[0] == PUBLISHERS}
    return {
        target["broker"]: frozenset(settings[key]["publishers"])
        for key, target in targets.items()
        if target["flow"] == flow
    }


def lists_of(places: Iterable[tuple[str, str]]) -> dict[str, Names]:
    """Return the names of publishers by broker, of pairs of both."""
    lists: dict[str, set[str]] = {}
    for name, broker in places:
        lists.setdefault(broker, set()).add(name)
    return {broker: frozenset(names) for broker, names in sorted(lists.items())}


def lists_of_catalogue(placement: Placement) -> dict[str, Names]:
    """Return who publishes the topic at each broker by the catalogue."""
    rows = Publisher.objects.filter(topic=placement.topic_id, broker__isnull=False)
    return lists_of(rows.values_list("name", "broker__name"))


@lru_cache(maxsize=4)
def assignments_of(placement: UUID) -> Mapping[str, str]:
    """Return the broker of each publisher that the placement of this id places.

    Kept: pages that are open look every few seconds, and an answer that is stored never changes.
    """
    answer = RunResult.objects.get(run__placement__public_id=placement)
    return MappingProxyType(json.loads(bytes(answer.payload))["assignments"])


def lists_of_placement(placement: Placement, present: Mapping[str, Names]) -> dict[str, Names]:
    """Return whom each broker lets in by the placement, given who publishes where at present.

    Publishers without a rate take no part in a placement. They keep their broker where it serves
    others; else they go to the broker that serves most.
    """
    places = dict(assignments_of(placement.public_id))
    serving = Counter(places.values())
    most = min(serving, key=lambda broker: (-serving[broker], broker))
    today = {name: broker for broker in sorted(present) for name in present[broker]}
    silent = Publisher.objects.filter(topic=placement.topic_id).exclude(rate_per_s__gt=0)
    for name in silent.values_list("name", flat=True):
        here = today.get(name, "")
        places[name] = here if here in serving else most
    return lists_of(places.items())
