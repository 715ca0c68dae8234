"""What a kernel that answers one payload with one call is asked.

A module with `answer(payload, call) -> bytes` is such a kernel. It raises WeirError for what it
refuses. It reads no clock: whoever calls it holds the clock, and says when it is enough.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What goes with a payload: the method and its parameters, and the way to whoever waits."""

    method: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    inputs: Mapping[str, Any] = field(default_factory=dict)
    """What only this kind of computation needs."""
    stop: Callable[[], bool] = lambda: False
    """Whether it is enough: the time is up, or nobody waits any more."""
    elapsed_s: Callable[[], float] = lambda: 0.0
    """Seconds since the call."""
    report: Callable[[Mapping[str, Any]], None] = lambda progress: None
    """Takes how far it is: `iteration`, `utility`, `best_utility`, `upper_bound`, `done`, `total`,
    or some of them; costs next to nothing."""


class Kernel(Protocol):
    """What such a module offers."""

    def answer(self, payload: bytes, call: Call) -> bytes:
        """The answer, in one spelling, so that the same question gives the same bytes."""
        ...
