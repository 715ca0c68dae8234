"""How much of a system a plan touches; policies decide by it. Counted once, when it is made."""

from typing import Any

from apps.catalog.models import ConsumerClass, Topic
from apps.plans.selectors.presentation import tree_change
from apps.systems.models import System
from apps.topology.models import Broker
from weir import actions
from weir.model.plan import Action
from weir.model.plan import Plan as Document


def blast_radius(document: Document, system: System) -> dict[str, Any]:
    """Brokers, topics, links and consumers that the plan touches, and how many there are."""
    every = [action for step in document.steps for action in step.actions]
    wanted = dict(ConsumerClass.objects.filter(system=system).values_list("name", "population_max"))
    topics = list(Topic.objects.filter(system=system).values_list("name", flat=True))
    trees = [action for action in every if actions.protocol(action) == "tree"]
    named = {action.target["flow"] for action in every if "flow" in action.target}
    moved = [_consumers(action, wanted) for action in every if "class" in action.target]
    return {
        "brokers": len({broker for action in every for broker in actions.brokers(action)}),
        "brokers_total": Broker.objects.filter(system=system).count(),
        # What moves a link may pause every topic that crosses it, and any may.
        "topics": len(set(topics) | named) if trees else len(named),
        "topics_total": len(topics),
        "links": len({edge for action in trees for edge in _moved_links(action)}),
        "actions": len(every),
        "consumers_admitted": sum(max(0, after - before) for before, after in moved),
        "consumers_released": sum(max(0, before - after) for before, after in moved),
    }


def _moved_links(action: Action) -> list[actions.Edge]:
    """A link that moves counts once, by where it was."""
    gone, come = tree_change(action)
    return gone or come


def _consumers(action: Action, wanted: dict[str, int]) -> tuple[int, int]:
    """Admitted before and after; without a limit everybody who wants in is in."""
    everybody = wanted.get(action.target["class"], 0)
    before, after = (
        everybody if value is None else int(value.get("limit", everybody))
        for value in (action.before, action.after)
    )
    return before, after
