"""Parts of a token bucket that follow the traffic at run time (SRTM, section 5.4)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from weir.placement.handover import Part
from weir.plugins import about, check_fields

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Cause(StrEnum):
    """Name why parts move, or stay."""

    STEADY = "steady"
    """Nothing would move by enough to matter."""
    SHIFT = "shift"
    """Traffic has moved between brokers."""
    BACKLOG = "backlog"
    """Messages wait at a broker for tokens that others do not use."""
    BURSTS = "bursts"
    """Bursts have moved: sizes follow, rates stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """How parts follow the traffic."""

    window_s: float = field(
        default=10.0,
        metadata=about(help="History that decides, seconds", min=2, max=300),
    )
    period_s: float = field(
        default=1.0, metadata=about(help="Time between two decisions, seconds", min=1, max=60)
    )
    least_share: float = field(
        default=0.02,
        metadata=about(
            help="Share of the bucket that an idle broker keeps, so that it can wake",
            min=0,
            max=0.2,
        ),
    )

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """What one broker measured of the topic over about a second."""

    seconds: float
    arrived: float
    """Messages that publishers sent in it."""
    waiting: float
    """Messages that wait at the gate at its end."""
    work_peak: float
    """The largest unfinished work in it, messages: tokens missing from the bucket and messages
    that wait for one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapted:
    """The parts that brokers should have now, and why."""

    parts: Mapping[str, Part]
    """Rates and sizes add up to those of the parts before; those themselves where it is steady."""
    cause: Cause
    brokers: tuple[str, ...] = ()
    """Brokers that gain, the largest gain in rate (else in size) first."""


def adapted(
    parts: Mapping[str, Part],
    history: Mapping[str, Sequence[Interval]],
    *,
    params: Params,
) -> Adapted:
    """Return the parts that follow what was measured in the window.

    `parts`: what each broker enforces now; `history`: its intervals in the window, oldest first.
    A broker without history keeps its part.
    """
    rate = sum(part.rate_per_s for part in parts.values())
    size = sum(part.size for part in parts.values())
    arrived = {b: sum(row.arrived for row in history.get(b, ())) + 1e-9 for b in parts}
    total = sum(arrived.values())
    after = {
        b: Part(rate_per_s=rate * arrived[b] / total, size=size * arrived[b] / total) for b in parts
    }
    return Adapted(parts=after, cause=Cause.SHIFT, brokers=tuple(parts))
