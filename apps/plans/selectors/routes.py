"""Find out whether messages have a path from where they enter to the consumers that want them."""

from dataclasses import dataclass
from uuid import UUID

from networkx.utils import UnionFind

from apps.catalog.models import ConsumerClass, TopicNodeCost
from apps.plans.domain.naming import listed
from apps.systems.models import System
from apps.telemetry.selectors import removed_brokers
from apps.topology.models import Link, Overlay, OverlayEdge, OverlayPurpose


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreached:
    """Describe a consumer class that no message of its topic can reach."""

    id: UUID
    name: str
    broker: str
    topic: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Routes:
    """Hold the classes without a path, by name, and the overlay or links that decided."""

    unreached: tuple[Unreached, ...]
    overlay: str | None
    """The overlay in force; None: there is none, links of the model lead."""
    drafts: tuple[str, ...]
    """Overlays that are not in force."""

    @property
    def sentence(self) -> str:
        """Return what is missing and what to do; empty where every class has a way."""
        if not self.unreached:
            return ""
        first = self.unreached[0]
        more = len(self.unreached) - 1
        others = f" ({more:,} more classes have none either)" if more > 1 else ""
        others = " (one more class has none either)" if more == 1 else others
        where = (
            f"the overlay in force, {self.overlay}, does not join the two"
            if self.overlay is not None
            else "no overlay is in force and no link leads there"
        )
        return (
            f"Messages of {first.topic} enter at {first.source} and cannot reach class "
            f"{first.name} at {first.broker}: {where}{others}. {self._next}"
        )

    @property
    def _next(self) -> str:
        first = self.unreached[0]
        if self.overlay is not None:
            return (
                f"Add edges from {first.source} to {first.broker} to overlay {self.overlay}, or "
                "move the class."
            )
        if self.drafts:
            return (
                f"Set In force on overlay {listed(self.drafts)} when its edges join them, or "
                "move the class."
            )
        return "Add an overlay whose edges join them and set it In force, or move the class."


def routes_of(system: System) -> Routes:
    """Find the classes without a path in a few queries, however large the model.

    An overlay in force decides. Without one the model's links do, in both directions; and in a
    model that has neither, a topic goes where it has costs, as problems in the literature say it.
    Topics without a source, classes that nobody wants into, and brokers that a plan removed as
    gone are left out: nothing is promised there.
    """
    overlays = list(Overlay.objects.filter(system=system, purpose=OverlayPurpose.OVERLAY))
    running = next((overlay for overlay in overlays if overlay.in_force), None)
    edges = (
        OverlayEdge.objects.filter(overlay=running).values_list("a", "b")
        if running is not None
        else Link.objects.filter(system=system).values_list("source", "target")
    )
    pairs = list(edges)
    part: UnionFind[int] = UnionFind()
    for pair in pairs:
        part.union(*pair)
    by_costs = not overlays and not pairs
    reached = (
        set(TopicNodeCost.objects.filter(topic__system=system).values_list("topic", "broker"))
        if by_costs
        else set()
    )
    gone = removed_brokers(system)
    rows = (
        ConsumerClass.objects.filter(
            system=system, topic__source__isnull=False, population_max__gt=0
        )
        .exclude(broker__name__in=gone)
        .order_by("name")
        .values_list(
            *("public_id", "name", "broker", "broker__name"),
            *("topic", "topic__name", "topic__source", "topic__source__name"),
        )
    )
    unreached = [
        Unreached(id=key, name=name, broker=broker_name, topic=topic_name, source=source_name)
        for key, name, broker, broker_name, topic, topic_name, source, source_name in rows
        if source != broker and (topic, broker) not in reached and part[source] != part[broker]
    ]
    return Routes(
        unreached=tuple(unreached),
        overlay=running.name if running is not None else None,
        drafts=tuple(overlay.name for overlay in overlays if not overlay.in_force),
    )
