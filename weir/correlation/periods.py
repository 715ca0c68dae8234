"""Recognise publishers that keep a period, and those of them that share its phase."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weir.correlation.activity import Activity, Floats, Ints, Search


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiles:
    """What is known of some publishers by themselves, in the order of their ids."""

    ids: Ints
    starts: Ints
    moments_s: Floats
    """Moments that no comb explains, by publisher, as in `Activity`."""
    period_s: Floats
    """NaN: the publisher keeps no period."""
    phase_s: Floats
    """When the comb begins after `since_s`, in [0, period)."""
    messages: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodGroup:
    """Publishers that keep one period at one phase."""

    ids: Ints
    period_s: float
    phase_s: float


def profiles_of(activity: Activity, ids: Ints, search: Search) -> Profiles:
    """Return moments and period of each publisher of a part; `ids` are theirs among all."""
    raise NotImplementedError


def period_groups(
    ids: Ints, period_s: Floats, phase_s: Floats, *, duration_s: float, search: Search
) -> Sequence[PeriodGroup]:
    """Return publishers of equal period whose phases are nearer than chance explains."""
    raise NotImplementedError
