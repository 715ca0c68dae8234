"""List what a system's model still needs to be computed, to be planned, to be carried out."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from django.utils import timezone

from apps.catalog.models import ConsumerClass, ConsumerClassCost, Topic, TopicNodeCost
from apps.common.formatting import counted
from apps.plans.domain.naming import listed
from apps.plans.selectors.routes import routes_of
from apps.systems.models import System
from apps.telemetry.models import AgentState
from apps.telemetry.selectors import agents_of, removed_brokers
from apps.topology.models import Broker, Overlay


class Stage(StrEnum):
    """Name what the model is needed for; each stage needs the ones before it, too."""

    COMPUTE = "compute"
    PLAN = "plan"
    CARRY_OUT = "carry_out"


class Place(StrEnum):
    """Name where a person adds what is missing."""

    SYSTEM = "system"
    BROKERS = "brokers"
    TOPICS = "topics"
    CLASSES = "consumer-classes"
    OVERLAYS = "overlays"
    TELEMETRY = "telemetry"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Describe one thing to have; `detail` says what is missing and what to do, or what is
    there."""

    stage: Stage
    title: str
    done: bool
    detail: str
    place: Place


def checklist(system: System) -> list[Item]:
    """Return every item, in the order in which one builds a model."""
    return [*_compute(system), *_plan(system), *_carry_out(system)]


def _item(stage: Stage, place: Place, title: str, missing: str, there: str) -> Item:
    return Item(stage=stage, title=title, done=not missing, detail=missing or there, place=place)


def _compute(system: System) -> Iterator[Item]:
    brokers = Broker.objects.filter(system=system)
    bare = tuple(brokers.filter(capacities=None).values_list("name", flat=True))
    missing = ""
    if not brokers.exists():
        missing = "There is no broker. Add one with its capacity."
    elif bare:
        missing = (
            f"{listed(bare)} {'has' if len(bare) == 1 else 'have'} no capacity, so nothing limits "
            f"{'it' if len(bare) == 1 else 'them'}. Give units per second of "
            f"{listed(tuple(system.resources))}."
        )
    yield _item(
        Stage.COMPUTE,
        Place.BROKERS,
        "Brokers with capacities",
        missing,
        f"{counted(brokers.count(), 'broker')}.",
    )

    topics = Topic.objects.filter(system=system)
    costed = TopicNodeCost.objects.filter(topic__system=system)
    free = tuple(topics.exclude(pk__in=costed.values("topic")).values_list("name", flat=True))
    missing = ""
    if not topics.exists():
        missing = "There is no topic. Add one with its lowest and highest rate."
    elif free:
        missing = (
            f"{listed(free)} {'costs' if len(free) == 1 else 'cost'} no broker anything, so "
            "brokers look empty that carry messages. Give the work per message at each broker."
        )
    yield _item(
        Stage.COMPUTE,
        Place.TOPICS,
        "Topics with costs",
        missing,
        f"{counted(topics.count(), 'topic')}.",
    )

    classes = ConsumerClass.objects.filter(system=system)
    costed_classes = ConsumerClassCost.objects.filter(consumer_class__system=system)
    unpaid = tuple(
        classes.exclude(pk__in=costed_classes.values("consumer_class")).values_list(
            "name", flat=True
        )
    )
    alone = tuple(topics.filter(consumer_classes=None).values_list("name", flat=True))
    missing = ""
    if not classes.exists():
        missing = "There is no consumer class. Add who wants a topic, where, and its worth."
    elif alone:
        missing = (
            f"Nobody wants {listed(alone)}, so the lowest rate is enough. Add a consumer class "
            "or remove the topic."
        )
    elif unpaid:
        missing = (
            f"Consumers of {listed(unpaid)} cost nothing, so all of them are admitted. Give the "
            "work per message and consumer."
        )
    yield _item(
        Stage.COMPUTE,
        Place.CLASSES,
        "Consumer classes with costs",
        missing,
        f"{counted(classes.count(), 'class', 'classes')}.",
    )

    routes = routes_of(system)
    by = "links of the model or costs" if routes.overlay is None else f"overlay {routes.overlay}"
    yield _item(
        Stage.COMPUTE,
        Place.OVERLAYS,
        "A way from each source to each class",
        routes.sentence,
        f"Given by {by}.",
    )


def _plan(system: System) -> Iterator[Item]:
    topics = Topic.objects.filter(system=system)
    nowhere = tuple(topics.filter(source=None).values_list("name", flat=True))
    missing = "" if topics.exists() else "There is no topic yet."
    if nowhere:
        missing = (
            f"Nobody knows where {listed(nowhere)} {'enters' if len(nowhere) == 1 else 'enter'}, "
            "so no gate can limit the rate. Give the source broker."
        )
    yield _item(
        Stage.PLAN,
        Place.TOPICS,
        "A source broker for each topic",
        missing,
        "Gates can limit every topic.",
    )
    running = Overlay.objects.filter(system=system, in_force=True).first()
    yield _item(
        Stage.PLAN,
        Place.OVERLAYS,
        "An overlay in force",
        ""
        if running
        else "No overlay is in force, so agents have no links to carry messages over. Add one "
        "with its edges and set it In force.",
        f"{running} is in force.",
    )


def _carry_out(system: System) -> Iterator[Item]:
    yield _item(
        Stage.CARRY_OUT,
        Place.SYSTEM,
        "A product that agents can steer",
        f"{system.get_product_display()} is model only: no agent has a driver for it yet, so "
        "plans can be read and not carried out."
        if system.model_only
        else "",
        f"Agents have a driver for {system.get_product_display()}.",
    )
    gone = removed_brokers(system)
    names = set(Broker.objects.filter(system=system).values_list("name", flat=True)) - gone
    agents = list(agents_of(system))
    without = tuple(sorted(names - {agent.broker.name for agent in agents}))
    now = timezone.now()
    silent = tuple(
        agent.broker.name
        for agent in agents
        if agent.broker.name in names and agent.state(now) != AgentState.LIVE
    )
    missing = ""
    if not names:
        missing = "There is no broker yet."
    elif without:
        missing = f"No agent is enrolled for {listed(without)}. Enrol one beside each broker."
    elif silent:
        missing = f"The agent of {listed(silent)} is not heard. Start it and look at its log."
    yield _item(
        Stage.CARRY_OUT,
        Place.TELEMETRY,
        "An agent beside each broker",
        missing,
        f"{counted(len(names), 'agent')} heard.",
    )
    lost = tuple(
        agent.broker.name
        for agent in agents
        if agent.address_problem and agent.broker.name in names and len(names) > 1
    )
    yield _item(
        Stage.CARRY_OUT,
        Place.TELEMETRY,
        "An address for each agent",
        f"No good address is fixed for {listed(lost)}, so neighbours cannot link with it. Fix it "
        "on Telemetry."
        if lost
        else ("" if agents else "No agent is enrolled yet."),
        "Neighbours can link.",
    )
