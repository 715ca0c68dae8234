"""The actions of a life's plans, as data; the plan kernel has its own, with the same rules."""

from __future__ import annotations

from dataclasses import dataclass

from weir.coordination import removal
from weir.coordination.views import ActionView, Protocol
from weir.lifecycle.steps import ActionState

Edge = frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One action: a shift, append or detach (`peers`), or a setting (`key`, `before`, `after`)."""

    kind: str
    peers: dict[str, str]
    key: tuple[str, str] = ("", "")
    """(broker, class or flow)."""
    before: float | None = None
    after: float | None = None

    @property
    def tree(self) -> bool:
        """Whether it changes the overlay."""
        return bool(self.peers)

    def inverse(self) -> Change:
        """What takes it back."""
        p = self.peers
        match self.kind:
            case "shift_link":
                return Change(kind=self.kind, peers={"i": p["i"], "j": p["k"], "k": p["j"]})
            case "append_broker":
                return Change(kind="detach_broker", peers={"i": p["i"], "j": p["k"]})
            case "detach_broker":
                return Change(kind="append_broker", peers={"i": p["i"], "k": p["j"]})
        return Change(kind=self.kind, peers={}, key=self.key, before=self.after, after=self.before)

    def edges(self, now: set[Edge] | None = None) -> tuple[set[Edge], set[Edge]]:
        """Edges that go, edges that come; `now`: those that are there."""
        p = self.peers
        match self.kind:
            case removal.KIND:
                gone = {b for role, b in p.items() if removal.is_gone(role)}
                out = {edge for edge in now or () if edge & gone}
                return out, {frozenset((p[a], p[b])) for a, b in removal.links(p)}
            case "shift_link":
                return {frozenset((p["i"], p["j"]))}, {frozenset((p["i"], p["k"]))}
            case "append_broker":
                return set(), {frozenset((p["i"], p["k"]))}
            case "detach_broker":
                return {frozenset((p["i"], p["j"]))}, set()
        return set(), set()

    def view(self, name: str, inverts: str | None = None) -> ActionView:
        """The action as the coordinator sees it, not begun."""
        return ActionView(
            id=name,
            protocol=Protocol.TREE if self.tree else Protocol.SETTING,
            kind=self.kind,
            state=ActionState.PENDING,
            participants=dict(self.peers),
            awaited=frozenset() if self.tree else frozenset({self.key[0]}),
            final=self.kind == removal.KIND,
            inverts=inverts,
        )

    def __str__(self) -> str:
        if self.tree:
            return f"{self.kind}({', '.join(f'{r}={b}' for r, b in self.peers.items())})"
        return f"{self.kind}({self.key[1]}@{self.key[0]}: {self.before} -> {self.after})"


def is_tree(edges: set[Edge]) -> bool:
    """Whether they connect all the brokers that they name, without a circle."""
    members = {broker for edge in edges for broker in edge}
    if not members:
        return True
    reached, todo = set(), [min(members)]
    while todo:
        broker = todo.pop()
        reached.add(broker)
        todo += [b for e in edges if broker in e for b in e - {broker} if b not in reached]
    return reached == members and len(edges) == len(members) - 1
