"""What every kind of action offers to planning, approval and execution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Set

    from weir.model.plan import Action

ProtocolName = Literal["setting", "tree"]
"""How an action is carried out: `setting`: a desired value that one broker takes over;
`tree`: the shift protocol, in which several brokers change the overlay's edges together."""

Edge = tuple[str, str]
"""An undirected edge of the overlay: two brokers in alphabetical order."""


class ActionKind(Protocol):
    """A module of the folder; KIND equals its file name."""

    KIND: str
    TITLE: str
    SUMMARY: str
    PROTOCOL: ProtocolName
    FINAL: bool
    """Whether there is no way back: `inverse` raises, and a rollback leaves it as it is."""

    def brokers(self, action: Action) -> tuple[str, ...]:
        """The brokers concerned."""
        ...

    def absent(self, action: Action) -> frozenset[str]:
        """Those of them that take no part because they are gone for good."""
        ...

    def roles(self, action: Action) -> Mapping[str, str]:
        """Role -> broker for the shift protocol; empty for settings."""
        ...

    def title(self, action: Action) -> str:
        """What the action does, in one line for people, with units."""
        ...

    def undo_title(self, action: Action) -> str:
        """What undoing it does."""
        ...

    def inverse(self, action: Action) -> Action:
        """The action that undoes this one; InvalidProblem where the kind is FINAL."""
        ...

    def validate(self, action: Action) -> None:
        """Raise InvalidProblem that names the field where the action makes no sense."""
        ...

    def is_takeaway(self, action: Action) -> bool:
        """Whether it only lowers what is allowed; such settings go first. False for trees."""
        ...

    def apply_edges(self, edges: Set[Edge], action: Action) -> frozenset[Edge]:
        """The edges after a tree action; InvalidProblem where it does not fit. Settings: as is."""
        ...
