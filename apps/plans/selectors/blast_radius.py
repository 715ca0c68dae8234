"""Count how much of a system a plan touches, once, when it is made; policies decide by it."""

from collections import defaultdict
from typing import Any

from apps.catalog.models import Topic
from apps.demand.selectors.used import wanted_consumers
from apps.executions.selectors.flow_map import names_moved
from apps.executions.selectors.modelled import CLASS
from apps.plans.selectors.presentation import tree_change
from apps.systems.models import System
from apps.topology.models import Broker
from weir import actions
from weir.actions.move_stream import KIND as STREAM
from weir.model.plan import Action
from weir.model.plan import Plan as Document


def blast_radius(document: Document, system: System) -> dict[str, Any]:
    """Return the brokers, topics, links and consumers that the plan touches, and how many there
    are."""
    every = [action for step in document.steps for action in step.actions]
    of_classes = any("class" in action.target for action in every)
    wanted = wanted_consumers(system) if of_classes else {}
    topics = list(Topic.objects.filter(system=system).values_list("name", flat=True))
    trees = [action for action in every if actions.protocol(action) == "tree"]
    named = {action.target["flow"] for action in every if "flow" in action.target}
    # A stream that moves takes its flows along.
    streams = names_moved(every)[STREAM]
    if streams:
        along = Topic.objects.filter(system=system, stream__name__in=streams)
        named |= set(along.values_list("name", flat=True))
    moved = _consumers(every, wanted)
    touched = {broker for action in every for broker in actions.brokers(action)}
    return {
        "brokers": len(touched),
        "brokers_total": len(_brokers(system) | touched),
        # What moves a link may pause every topic that crosses it, and any may.
        "topics": len(set(topics) | named) if trees else len(named),
        "topics_total": len(topics),
        "links": len({edge for action in trees for edge in _moved_links(action)}),
        "actions": len(every),
        "consumers_admitted": sum(max(0, after - before) for before, after in moved),
        "consumers_released": sum(max(0, before - after) for before, after in moved),
    }


def _brokers(system: System) -> set[str]:
    """Return the system's brokers: those with an agent, as soon as one has connected. The model may
    hold any number that nobody runs, and a policy asks for the touched share."""
    run = Broker.objects.filter(
        system=system, agent__incarnation__gt=0, agent__revoked_at=None
    ).values_list("name", flat=True)
    return set(run) or set(Broker.objects.filter(system=system).values_list("name", flat=True))


def _moved_links(action: Action) -> list[actions.Edge]:
    """Return the links that an action moves; each counts once, by its former place."""
    gone, come = tree_change(action)
    return gone or come


def _consumers(every: list[Action], wanted: dict[str, int]) -> list[tuple[int, int]]:
    """Return, for each touched class, the consumers admitted before and after, at most.

    A class that is not served admits none; without a limit everybody who wants in is in.
    """
    touched = defaultdict(list)
    for action in every:
        if "class" in action.target:
            touched[action.target["class"], action.target["broker"]].append(action)
    return [_admitted(of, wanted.get(name, 0)) for (name, _), of in touched.items()]


def _admitted(of: list[Action], everybody: int) -> tuple[int, int]:
    counts = []
    # The first value of a setting is the one before the plan, the last the one after it.
    for side, order in (("before", of[::-1]), ("after", of)):
        values = {action.kind: getattr(action, side) for action in order}
        limit = values.get("set_population")
        count = everybody if limit is None else int(limit["limit"])
        served = CLASS not in values or values[CLASS] is not None
        counts.append(count if served else 0)
    return counts[0], counts[1]
