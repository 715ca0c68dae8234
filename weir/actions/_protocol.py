"""What every kind of action offers to planning, approval and execution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Set

    from weir.model.plan import Action

ProtocolName = Literal["setting", "tree"]
"""How an action is carried out: `setting`: a desired value that a broker takes over, or that Weir
keeps itself; `tree`: the shift protocol, in which several brokers change the overlay's edges
together."""

Edge = tuple[str, str]
"""An undirected edge of the overlay: two brokers in alphabetical order."""


class ActionKind(Protocol):
    """A module of the folder; KIND equals its file name."""

    KIND: str
    TITLE: str
    SUMMARY: str
    PROTOCOL: ProtocolName
    FINAL: bool
    """Whether it cannot be rolled back: `inverse` raises, and a rollback leaves it as it is."""

    def brokers(self, action: Action) -> tuple[str, ...]:
        """Return the names of the brokers that the action concerns; none where Weir keeps the value
        itself."""
        ...

    def absent(self, action: Action) -> frozenset[str]:
        """Return those brokers that take no part because they are gone for good."""
        ...

    def roles(self, action: Action) -> Mapping[str, str]:
        """Map each role of the shift protocol to its broker; a setting returns an empty mapping."""
        ...

    def title(self, action: Action) -> str:
        """Say in one line, with units, what the action does."""
        ...

    def undo_title(self, action: Action) -> str:
        """Say in one line what undoing the action does."""
        ...

    def inverse(self, action: Action) -> Action:
        """Return the action that undoes this one; raise InvalidProblem where the kind is FINAL."""
        ...

    def validate(self, action: Action) -> None:
        """Raise InvalidProblem that names the field where the action makes no sense."""
        ...

    def is_takeaway(self, action: Action) -> bool:
        """Return whether a setting only lowers what is allowed: such settings are applied first.
        Tree actions return False."""
        ...

    def apply_edges(self, edges: Set[Edge], action: Action) -> frozenset[Edge]:
        """Return the edges after a tree action; raise InvalidProblem where it does not fit. A
        setting returns the edges unchanged."""
        ...
