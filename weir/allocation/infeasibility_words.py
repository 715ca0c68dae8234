"""Relaxations as sentences that a person can act on.

Rounded to the safe side: a capacity up, a rate down, so that doing what the sentence says helps.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weir.model import Change

MAX_NAMED = 3
"""Changes that a sentence names; the others are counted."""

DIGITS = 4


def capacities_sentence(changes: Sequence[Change]) -> str:
    """Say which capacities to raise, from what to what."""
    named = [
        f"{_place(change)} from {rounded(change.before)} to {rounded(change.after, up=True)}"
        for change in changes
    ]
    return f"Raise the capacity of {_listed(named)} (units of work per second)."


def all_rates_sentence(factor: float) -> str:
    """One factor on every minimum rate."""
    if factor == 0:
        return "Lower every minimum rate to 0: something in use has no capacity at all."
    share = rounded(100.0 * factor)
    return f"Lower every minimum rate to {share} % of what it is."


def few_rates_sentence(changes: Sequence[Change]) -> str:
    """Say which minimum rates to lower, from what to what, and how far they fall together."""
    named = [
        f"{change.id} from {rounded(change.before)} to {rounded(change.after)}"
        for change in sorted(changes, key=_kept)
    ]
    rates = "minimum rate" if len(changes) == 1 else "minimum rates"
    total = rounded(100.0 * sum(1.0 - _kept(change) for change in changes), up=True)
    together = "" if len(changes) == 1 else f" The cuts add up to {total} %; no smaller sum helps."
    return f"Lower the {rates} of {_listed(named)} (messages per second).{together}"


def rounded(value: float, *, up: bool = False) -> str:
    """A quantity as a person writes it, cut (or raised) to whole units or four digits."""
    towards = math.ceil if up else math.floor
    if value == 0:
        return "0"
    if value >= 10.0 ** (DIGITS - 1):
        near = round(value)
        # A sum that is whole but for its rounding must not become the next whole number.
        whole = near if abs(value - near) <= 1e-9 * value else towards(value)
        return f"{whole:,}" if whole < 10**15 else f"{value:.4g}"
    scale = DIGITS - 1 - math.floor(math.log10(value))
    if scale > 300:
        return f"{value:.4g}"
    scaled = value * 10.0**scale
    near = round(scaled)
    digits = near if abs(scaled - near) <= 1e-9 * scaled else towards(scaled)
    return f"{digits / 10.0**scale:.4g}"


def _kept(change: Change) -> float:
    return change.after / change.before


def _place(change: Change) -> str:
    return f"{change.id} ({change.resource})" if change.resource else change.id


def _listed(named: Sequence[str]) -> str:
    if len(named) > MAX_NAMED:
        return f"{', '.join(named[:MAX_NAMED])} and {len(named) - MAX_NAMED:,} more"
    return " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
