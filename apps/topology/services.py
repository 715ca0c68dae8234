"""Change the overlay in force edge by edge, as executions do."""

from collections.abc import Callable, Collection, Iterable

from apps.common.errors import Conflict
from apps.common.formatting import counted
from apps.systems.models import System
from apps.systems.services import entity_change
from apps.topology.models import Broker, Overlay, OverlayEdge
from weir.actions import edge

Edges = frozenset[tuple[str, str]]
LEADS_MESSAGES = frozenset({"edges", "in_force", "purpose"})
"""The members of an overlay that decide where messages go."""


def overlay_in_force(system: System) -> Overlay:
    """Return the tree that carries messages now. Raises Conflict when the system has none."""
    overlay = Overlay.objects.select_related("system").filter(system=system, in_force=True).first()
    if overlay is None:
        raise Conflict(
            "no_overlay_in_force", f"{system} has no overlay in force; put one in force first."
        )
    return overlay


def edges_of(overlay: Overlay) -> Edges:
    """Return the overlay's links, as pairs of broker names."""
    rows = OverlayEdge.objects.filter(overlay=overlay).values_list("a__name", "b__name")
    return frozenset(edge(a, b) for a, b in rows)


def overlay_edit_check(system: System, overlay: Overlay | None, edited: Collection[str]) -> None:
    """Refuse a manual change of the tree by which agents route.

    A link that is simply replaced loses what is on its way; agents move it without a loss. Names
    and notes may change, and while no agent is enrolled everything may. A silent agent counts: it
    routes by the tree it was told, and reads the next one when it comes back. `overlay` None: it
    is being added. Raises Conflict.
    """
    moved = sorted(LEADS_MESSAGES.intersection(edited))
    routes = "in_force" in moved or (overlay is not None and overlay.in_force)
    if not moved or not routes:
        return
    count = Broker.objects.filter(
        system=system, agent__isnull=False, agent__revoked_at=None
    ).count()
    if count:
        agents = counted(count, "agent is enrolled", "agents are enrolled")
        name = f"{overlay} is in force" if overlay and overlay.in_force else "it would be in force"
        raise Conflict.of_field(
            moved[0],
            "Changes by a plan while agents are enrolled.",
            code="agents_are_enrolled",
            detail=f"{agents} in {system}, and {name}: an edit would move links that carry "
            "messages, without a plan. Find a better overlay or name a goal topology, and carry "
            "out its plan; or revoke the agents first.",
        )


def overlay_rewire(
    *, overlay: Overlay, rewire: Callable[[Edges], Iterable[tuple[str, str]]], reason: str
) -> None:
    """Give the overlay the edges that `rewire` makes of its present ones; unchanged rows stay.

    A new version of the overlay, a new model version (what was computed on the old tree is stale)
    and an audit entry with the edges that went and came. Raises Conflict naming the constraint:
    the edges of an overlay are a tree when the transaction ends. What `rewire` raises passes.
    """
    with entity_change(overlay, actor=None, reason=reason) as change:
        rows = OverlayEdge.objects.filter(overlay=change.row).values_list(
            "id", "a__name", "b__name"
        )
        keys = {edge(a, b): pk for pk, a, b in rows}
        wanted = frozenset(edge(a, b) for a, b in rewire(frozenset(keys)))
        gone, come = sorted(keys.keys() - wanted), sorted(wanted - keys.keys())
        names = {name for pair in come for name in pair}
        brokers = dict(
            Broker.objects.filter(system=change.row.system, name__in=names).values_list(
                "name", "id"
            )
        )
        missing = sorted(names - brokers.keys())
        if missing:
            raise Conflict(
                "no_such_broker", f"{overlay.system} has no broker {missing[0]} any more."
            )
        OverlayEdge.objects.filter(id__in=[keys[pair] for pair in gone]).delete()
        OverlayEdge.objects.bulk_create(
            OverlayEdge(overlay=change.row, a_id=brokers[a], b_id=brokers[b]) for a, b in come
        )
        change.before["edges"] = [{"a": a, "b": b} for a, b in gone]
        change.after["edges"] = [{"a": a, "b": b} for a, b in come]
