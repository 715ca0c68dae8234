"""A transition table with one way to move: what every lifecycle module is made of."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, TypeVar

from weir.errors import IllegalTransition

if TYPE_CHECKING:
    from collections.abc import Mapping
    from enum import StrEnum

S = TypeVar("S", bound="StrEnum")
C = TypeVar("C", bound="StrEnum")


class Machine(Generic[S, C]):
    """States, commands and where each command leads; states without a way out are final."""

    def __init__(self, noun: str, table: Mapping[S, Mapping[C, S]]) -> None:
        self.noun = noun
        self.table: Mapping[S, Mapping[C, S]] = MappingProxyType(
            {state: MappingProxyType(dict(ways)) for state, ways in table.items()}
        )
        self.ended: frozenset[S] = frozenset(s for s, ways in self.table.items() if not ways)

    def advance(self, state: S, command: C) -> S:
        """The state that follows. Raises IllegalTransition where the table has none."""
        ways = self.table[state]
        if command not in ways:
            allowed = ", ".join(way.replace("_", " ") for way in ways)
            article = "an" if self.noun[0] in "aeiou" else "a"
            raise IllegalTransition(
                f"{article} {self.noun} that is {state.replace('_', ' ')} cannot "
                f"{command.replace('_', ' ')}; allowed: {allowed or 'nothing, it has ended'}"
            )
        return ways[command]

    def allows(self, state: S, command: C) -> bool:
        """Whether the table has a way."""
        return command in self.table[state]
