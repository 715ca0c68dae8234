"""Change the overlay in force edge by edge, as executions do."""

from collections.abc import Callable, Iterable

from apps.common.errors import Conflict
from apps.systems.models import System
from apps.systems.services import entity_change
from apps.topology.models import Broker, Overlay, OverlayEdge
from weir.actions import edge

Edges = frozenset[tuple[str, str]]


def overlay_in_force(system: System) -> Overlay:
    """The tree that carries messages now. Raises Conflict when the system has none."""
    overlay = Overlay.objects.select_related("system").filter(system=system, in_force=True).first()
    if overlay is None:
        raise Conflict(
            "no_overlay_in_force", f"{system} has no overlay in force; put one in force first."
        )
    return overlay


def overlay_rewire(
    *, overlay: Overlay, rewire: Callable[[Edges], Iterable[tuple[str, str]]], reason: str
) -> None:
    """Give the overlay the edges that `rewire` makes of those it has; rows that stay stay.

    A new version of the overlay, a new model version (what was computed on the old tree is stale)
    and an audit entry with the edges that went and came. Raises Conflict naming the constraint:
    the edges of an overlay are a tree when the transaction ends. What `rewire` raises passes.
    """
    with entity_change(overlay, actor=None, reason=reason) as change:
        rows = OverlayEdge.objects.filter(overlay=change.row).values_list(
            "id", "a__name", "b__name"
        )
        found = {edge(a, b): pk for pk, a, b in rows}
        wanted = frozenset(edge(a, b) for a, b in rewire(frozenset(found)))
        gone, come = sorted(found.keys() - wanted), sorted(wanted - found.keys())
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
        OverlayEdge.objects.filter(id__in=[found[pair] for pair in gone]).delete()
        OverlayEdge.objects.bulk_create(
            OverlayEdge(overlay=change.row, a_id=brokers[a], b_id=brokers[b]) for a, b in come
        )
        change.before["edges"] = [{"a": a, "b": b} for a, b in gone]
        change.after["edges"] = [{"a": a, "b": b} for a, b in come]
