"""What each broker may hold of a bucket whose parts move at run time.

A broker goes on enforcing an earlier part until its agent has read a later document, for as long as
it likes. So beside what is asked of it stands the most that it may hold since it last confirmed
what was asked, rate and size apart. A part is enlarged only where all these together stay within
the contract: shrink, confirm, then grow. Whatever is delayed or lost, the parts that brokers
enforce add up to no more (tests/apps/executions/test_adapted_parts.py takes random walks).

The parts *in force* add up to the contract. Where a plan begins to change them, or parts shall
return to them, every broker is first asked for the smallest of what it is asked for, what is in
force and what the plan wants (`capped`). Once none may hold more than in force or wanted
(`may_return`), the plan's own order of steps keeps the whole, as it does for parts that never moved
(`weir.placement.handover`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from weir.placement.handover import NOTHING, Part

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

UNBOUNDED = Part(rate_per_s=math.inf, size=math.inf)
"""What a broker holds that only counts, or of which nobody knows what it holds."""

SLACK = 1e-9
"""The share by which sums of floating-point numbers may seem to exceed the contract."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One broker's part: what was approved, what is asked, and what it may hold meanwhile."""

    asked: Part
    in_force: Part
    wanted: Part
    """What a plan under way asks for; else what is in force."""
    may_hold: Part | None = None
    """The most since what is asked was last confirmed; None: exactly what is asked."""

    @property
    def most(self) -> Part:
        """Return what the broker enforces at most, now and until it is asked for something else."""
        return self.asked if self.may_hold is None else larger(self.asked, self.may_hold)

    def asking(self, part: Part) -> Entry:
        """Return the entry once the broker is asked for another part."""
        if part == self.asked:
            return self
        return replace(self, asked=part, may_hold=larger(self.most, part))

    def confirmed(self) -> Entry:
        """Return the entry once the broker shows what is asked, by a document that asks for it."""
        return replace(self, may_hold=None)

    @property
    def capped(self) -> Part:
        """Return the part under which nothing grows, whatever is in force afterwards."""
        return smaller(smaller(self.asked, self.in_force), self.wanted)

    @property
    def ordinary(self) -> Part:
        """Return the most that the broker may hold while parts do not move beside plans."""
        return larger(self.in_force, self.wanted)


def bound_of(part: Part | None) -> Part:
    """Return what a part lets in at most: without one nothing, as long as others have one."""
    if part is None:
        return NOTHING
    return UNBOUNDED if part.count_only else part


def larger(one: Part, other: Part) -> Part:
    """Return the larger rate with the larger size."""
    return Part(rate_per_s=max(one.rate_per_s, other.rate_per_s), size=max(one.size, other.size))


def smaller(one: Part, other: Part) -> Part:
    """Return the smaller rate with the smaller size."""
    return Part(rate_per_s=min(one.rate_per_s, other.rate_per_s), size=min(one.size, other.size))


def total(parts: Iterable[Part]) -> Part:
    """Return the sums of the rates and of the sizes."""
    listed = list(parts)
    return Part(
        rate_per_s=math.fsum(part.rate_per_s for part in listed),
        size=math.fsum(part.size for part in listed),
    )


def within(parts: Iterable[Part], contract: Part) -> bool:
    """Return whether parts add up to no more than the contract, in both members."""
    whole = total(parts)
    return whole.rate_per_s <= contract.rate_per_s * (1 + SLACK) and whole.size <= contract.size * (
        1 + SLACK
    )


def fits(entries: Mapping[str, Entry], parts: Mapping[str, Part], contract: Part) -> bool:
    """Return whether brokers may be asked for these parts, by name; others keep theirs."""
    return within(
        (
            larger(entry.most, parts[broker]) if broker in parts else entry.most
            for broker, entry in entries.items()
        ),
        contract,
    )


def may_return(entries: Mapping[str, Entry]) -> bool:
    """Return whether parts that moved may become those in force, or those that a plan wants."""
    return all(larger(entry.most, entry.ordinary) == entry.ordinary for entry in entries.values())


def shrunk(entries: Mapping[str, Entry], after: Mapping[str, Part]) -> dict[str, Part]:
    """Return what brokers are asked for before any part grows to those after."""
    return {broker: smaller(entries[broker].asked, part) for broker, part in after.items()}


def made_whole(parts: Mapping[str, Part], whole: Part) -> dict[str, Part]:
    """Return the parts in their proportions, with these sums; those themselves where they have
    them."""
    now = total(parts.values())
    factors = [
        1.0 if math.isclose(is_now, shall, rel_tol=1e-12) else shall / is_now
        for is_now, shall in ((now.rate_per_s, whole.rate_per_s), (now.size, whole.size))
    ]
    return {
        broker: Part(rate_per_s=part.rate_per_s * factors[0], size=part.size * factors[1])
        for broker, part in parts.items()
    }
