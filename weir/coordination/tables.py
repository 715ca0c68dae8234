"""Forwarding tables of one agent, as data: which links there are and what each neighbour wants.

A message of flow F that came from `source` goes to every other neighbour whose interest holds F
(`destinations`). Interest travels the other way: towards a neighbour an agent wants what its own
broker wants and what its other neighbours want (`interest_towards`). On a tree both are exact.

Interest is sent out of band as a last value. A late value from before a shift would undo what the
shift agreed on, so every value names the `epoch` of its link: the action that last changed
what lies behind it. `interest_accepted` takes values of the table's own epoch and no others.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from weir.coordination import removal
from weir.coordination.wire import Order
from weir.errors import InvalidProblem

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

FIRST_EPOCH = ""
"""A link that no action has touched yet: it was there when its broker was enrolled."""

Flows = frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """What one agent forwards by. Every key of `interest` and `epochs` is one of `links`."""

    links: frozenset[str] = frozenset()
    interest: Mapping[str, Flows] = field(default_factory=dict)
    """Neighbour -> flows wanted behind the link to it."""
    epochs: Mapping[str, str] = field(default_factory=dict)
    """Neighbour -> the action that last changed what lies behind the link."""
    complete: bool = True
    """Whether every link that there is stands in `links`. Only then "no neighbour wants it" means
    that nobody does; an agent without a memory begins with tables that are not."""

    @property
    def unheard(self) -> Flows:
        """Return the neighbours that have not said yet what they want."""
        return self.links - self.interest.keys()

    @property
    def known(self) -> bool:
        """Whether what these tables send nowhere is wanted nowhere."""
        return self.complete and not self.unheard

    def epoch(self, neighbour: str) -> str:
        """Return the epoch that interest sent to or from this neighbour must name."""
        return self.epochs.get(neighbour, FIRST_EPOCH)

    def with_link(
        self, neighbour: str, flows: Iterable[str] = (), epoch: str = FIRST_EPOCH
    ) -> Tables:
        """Return the tables with this link, its interest and its epoch set."""
        return replace(
            self,
            links=self.links | {neighbour},
            interest={**self.interest, neighbour: frozenset(flows)},
            epochs={**self.epochs, neighbour: epoch},
        )

    def with_unheard(self, neighbour: str) -> Tables:
        """The tables with this link, of which nothing is known yet; what was known stays."""
        return replace(self, links=self.links | {neighbour})

    def without_link(self, neighbour: str) -> Tables:
        """Return the tables without the link to this neighbour, its interest and its epoch."""
        return replace(
            self,
            links=self.links - {neighbour},
            interest={k: v for k, v in self.interest.items() if k != neighbour},
            epochs={k: v for k, v in self.epochs.items() if k != neighbour},
        )


def destinations(flow: str, source: str | None, tables: Tables) -> tuple[str, ...]:
    """Return the neighbours that a message goes to, sorted; `source` None means that it entered at
    this broker."""
    return tuple(
        sorted(
            n for n in tables.links if n != source and flow in tables.interest.get(n, frozenset())
        )
    )


def own_side_interest(local: Iterable[str], tables: Tables, without: Collection[str]) -> Flows:
    """Return the flows wanted by this broker (`local`) and by its neighbours that are not in
    `without`."""
    wanted = set(local)
    for neighbour in tables.links:
        if neighbour not in without:
            wanted |= tables.interest.get(neighbour, frozenset())
    return frozenset(wanted)


def interest_towards(neighbour: str, local: Iterable[str], tables: Tables) -> Flows:
    """Return what this agent asks of a neighbour: everything wanted on its own side of the link."""
    return own_side_interest(local, tables, (neighbour,))


def interest_accepted(tables: Tables, neighbour: str, epoch: str, flows: Iterable[str]) -> Tables:
    """The tables after a neighbour's interest was read; unchanged when it is of another epoch.

    A value of a later epoch stays where it is kept and is read again after this agent's own
    switch. A value of an earlier one is followed by its sender's next, which it sends on switching.
    """
    if neighbour not in tables.links or tables.epoch(neighbour) != epoch:
        return tables
    wanted = frozenset(flows)
    if tables.interest.get(neighbour) == wanted:
        return tables
    return replace(tables, interest={**tables.interest, neighbour: wanted})


def interest_kept(kept: Tables, seen: Tables) -> Tables:
    """Return `kept` with the interest in `seen` where `kept` has none or one of the same epoch.

    A switch may separate the two tables, so the links of `kept` stay as they are, and so do the
    epochs of links whose interest it knows.
    """
    news = {
        neighbour: flows
        for neighbour, flows in seen.interest.items()
        if neighbour in kept.unheard
        or (neighbour in kept.links and kept.epoch(neighbour) == seen.epoch(neighbour))
    }
    return replace(
        kept,
        interest={**kept.interest, **news},
        epochs={**kept.epochs, **{n: seen.epochs[n] for n in news if n in seen.epochs}},
    )


def tables_after(order: Order, tables: Tables) -> Tables:
    """The tables once the commit of `order` is carried out at its role. Applying it twice is once.

    shift_link (edge i-j becomes i-k): i sees j and k behind k; k keeps j and gains i; j sees i
    behind k. Every change names the action as the epoch of the links it touched.
    remove_broker: each neighbour sees, behind each of its new links, everybody that link leads to.
    """
    peers = order.peers
    own = {role: frozenset(flows) for role, flows in order.interests.items()}

    def side(*roles: str) -> Flows:
        missing = [role for role in roles if role not in own]
        if missing:
            raise InvalidProblem("orders.interests", f"no interest of role {', '.join(missing)}")
        return frozenset().union(*(own[role] for role in roles))

    match order.kind, order.role:
        case "shift_link", "i":
            return tables.without_link(peers["j"]).with_link(
                peers["k"], side("j", "k"), order.action
            )
        case "shift_link", "j":
            return tables.without_link(peers["i"]).with_link(
                peers["k"], side("i", "k"), order.action
            )
        case "shift_link", "k":
            return tables.with_link(peers["i"], side("i"), order.action).with_link(
                peers["j"], side("j"), order.action
            )
        case "append_broker", "i":
            return tables.with_link(peers["k"], side("k"), order.action)
        case "append_broker", "k":
            return tables.with_link(peers["i"], side("i"), order.action)
        case "detach_broker", "i":
            return tables.without_link(peers["j"])
        case "detach_broker", "j":
            return tables.without_link(peers["i"])
        case removal.KIND, role if not removal.is_gone(role):
            for gone in filter(removal.is_gone, peers):
                tables = tables.without_link(peers[gone])
            for other in removal.linked_to(role, peers):
                flows = side(*removal.beyond(role, other, peers))
                tables = tables.with_link(peers[other], flows, order.action)
            return tables
    raise InvalidProblem("orders.role", f"{order.kind} has no role {order.role}")


def tables_to_dict(tables: Tables) -> dict[str, Any]:
    """Write the tables as a plain dict for the agent's state directory."""
    return {
        "links": sorted(tables.links),
        "interest": {n: sorted(flows) for n, flows in sorted(tables.interest.items())},
        "epochs": dict(sorted(tables.epochs.items())),
        "complete": tables.complete,
    }


def tables_from_dict(plain: Mapping[str, Any]) -> Tables:
    """Read tables from a plain dict; raise InvalidProblem where it has another shape."""
    try:
        return Tables(
            links=frozenset(plain["links"]),
            interest={n: frozenset(flows) for n, flows in plain["interest"].items()},
            epochs=dict(plain["epochs"]),
            # Tables of an agent that did not write this may have been cut short by a crash.
            complete=plain.get("complete") is True,
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise InvalidProblem("tables", f"not forwarding tables: {error!r}") from error
