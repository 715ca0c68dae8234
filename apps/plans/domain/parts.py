"""Judge the parts of what a plan promised: rates, limits of consumers, the fullest place, delays.

Each part has a figure that the plan brings into force or that an objective asks for, and what was
measured in the window after the execution. What passes is compared with what came in the same
blocks, so that traffic that varies excuses nothing. Where too little was measured nothing is said
but why.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean, stdev
from typing import Any

from apps.common.formatting import counted, figure, percent
from apps.plans.domain.verdicts import DEVIATIONS, LEAST_BLOCKS

TOLERANCE = 0.02
"""A rate or a number of consumers may be off by this share: agents count over seconds, and a bucket
lets a burst pass beyond its rate."""

LOAD_TOLERANCE = 0.05
"""The same of a load, which adds up what is tolerated of many rates."""

LEAST_DELAYS = 3
"""Minutes of a delay that must have been judged in the window."""


class Quantity(StrEnum):
    """Name what a part of a promise is about."""

    RATE = "rate"
    """What passes the gate of a topic, in messages per second."""
    CONSUMERS = "consumers"
    """Who is admitted of a class, in consumers."""
    LOAD = "load"
    """The place that the plan fills most, as a share of its capacity, at the model's costs."""
    DELAY = "delay"
    """The delay of a topic that has an objective, in seconds."""


UNITS = {
    Quantity.RATE: "msg/s",
    Quantity.CONSUMERS: "consumers",
    Quantity.LOAD: "of capacity",
    Quantity.DELAY: "s",
}


class Kept(StrEnum):
    """Name what became of a part of a promise."""

    KEPT = "kept"
    MISSED = "missed"
    UNKNOWN = "unknown"
    """It cannot be told; the sentence says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Hold one part of a promise with what was measured of it, in its unit."""

    quantity: Quantity
    name: str
    """Of the topic, class, broker or link."""
    where: str
    """The broker of the gate or class, or which delay by which objective; empty: of a load."""
    promised: float | None
    """None: nothing limits it; all that comes shall pass."""
    before: float | None
    after: float | None
    noise: float | None
    """By how much it varied by itself; None: that was not measured."""
    kept: Kept
    because: str

    @property
    def unit(self) -> str:
        """Return the unit of all its figures."""
        return UNITS[self.quantity]

    @property
    def label(self) -> str:
        """Return how a sentence calls the part: `rate of tides at a`."""
        if self.quantity is Quantity.DELAY:
            return f"delay ({self.where}) of {self.name}"
        where = f" at {self.where}" if self.where else ""
        return f"{self.quantity.value} of {self.name}{where}"

    def plain(self) -> dict[str, Any]:
        """Return the part as plain data for storing."""
        return {
            "quantity": self.quantity.value,
            "name": self.name,
            "where": self.where,
            "promised": self.promised,
            "before": self.before,
            "after": self.after,
            "noise": self.noise,
            "kept": self.kept.value,
            "because": self.because,
        }


def part_of(plain: Mapping[str, Any]) -> Part:
    """Return the inverse of `Part.plain`."""
    quantity, kept = Quantity(plain["quantity"]), Kept(plain["kept"])
    return Part(**{**plain, "quantity": quantity, "kept": kept})


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Hold the means of a figure, block by block of a window; blocks that were not measured are
    left out."""

    blocks: Sequence[float] = ()

    @property
    def mean(self) -> float | None:
        """Return the mean of the blocks; None: too few were measured."""
        return fmean(self.blocks) if len(self.blocks) >= LEAST_BLOCKS else None

    @property
    def noise(self) -> float | None:
        """Return by how much the figure varies; None: too few blocks were measured."""
        enough = len(self.blocks) >= LEAST_BLOCKS
        return DEVIATIONS * stdev(self.blocks) if enough else None


NOTHING = Series()


def judge_rate(
    topic: str,
    broker: str,
    limit: float | None,
    *,
    window_s: float,
    controlled: float | None = None,
    passed_before: Series,
    offered: Series,
    passed: Series,
    shed: Series,
) -> Part:
    """Judge the gate of a topic: all that was offered passed, as far as the limit lets it.

    `offered`, `passed` and `shed` are of the window after, in msg/s, which is `window_s` long; a
    limit that is None lets everything pass. `controlled` is the rate that rate control holds in its
    place, if it does.
    """
    after = passed.mean

    def part(kept: Kept, because: str) -> Part:
        return Part(
            quantity=Quantity.RATE,
            name=topic,
            where=broker,
            promised=limit,
            before=passed_before.mean,
            after=after,
            noise=passed_before.noise,
            kept=kept,
            because=because,
        )

    came = offered.mean
    if after is None or came is None:
        return part(Kept.UNKNOWN, f"Too little was measured at {broker} after it ended.")
    # Few messages vary by chance: their count by its root, if they come independently.
    by_chance = DEVIATIONS * math.sqrt(after / window_s)
    if limit is not None and after > limit * (1 + TOLERANCE) + by_chance:
        if controlled is not None and controlled > limit:
            return part(
                Kept.UNKNOWN, f"Rate control lets {figure(controlled)} msg/s pass in its place."
            )
        over = figure(after - limit)
        return part(Kept.MISSED, f"{over} msg/s more than the limit passed: the gate does not act.")
    # A rate that rises and falls around the limit passes less than the smaller of the two means.
    wanted = fmean(min(block, limit) if limit is not None else block for block in offered.blocks)
    if after < wanted * (1 - TOLERANCE) - by_chance:
        short = wanted - after
        if controlled is not None and after >= controlled * (1 - TOLERANCE) - by_chance:
            why = f"rate control holds the gate at {figure(controlled)} msg/s"
        elif (shed.mean or 0.0) > 0.5 * short:
            why = "the gate drops bursts larger than its bucket"
        else:
            why = "the others wait at the gate"
        return part(
            Kept.MISSED, f"{figure(short)} msg/s less passed than came and may pass; {why}."
        )
    if came == 0:
        return part(Kept.KEPT, "Nothing came.")
    if limit is not None and came > limit:
        return part(Kept.KEPT, f"{figure(came)} msg/s came; the limit passed.")
    return part(Kept.KEPT, f"{figure(came)} msg/s came; all of it passed.")


def judge_consumers(
    name: str,
    broker: str,
    limit: int | None,
    *,
    admitted_before: Series,
    admitted: Series,
    waiting: Series,
) -> Part:
    """Judge the limit of a class: no more are admitted, and nobody waits while there is room.

    `admitted` and `waiting` are of the window after; a limit that is None admits everybody.
    """
    after = admitted.mean

    def part(kept: Kept, because: str) -> Part:
        return Part(
            quantity=Quantity.CONSUMERS,
            name=name,
            where=broker,
            promised=None if limit is None else float(limit),
            before=admitted_before.mean,
            after=after,
            noise=admitted_before.noise,
            kept=kept,
            because=because,
        )

    queue = waiting.mean
    if after is None or queue is None:
        return part(Kept.UNKNOWN, f"Too little was measured at {broker} after it ended.")
    # Consumers are whole: less than half of one is none.
    if limit is not None and after > limit + max(0.5, TOLERANCE * limit):
        return part(
            Kept.MISSED, f"{figure(after - limit)} more than the limit were connected on average."
        )
    rooms = (
        came if limit is None else max(0.0, min(came, limit - inside))
        for inside, came in zip(admitted.blocks, waiting.blocks, strict=False)
    )
    idle = fmean(rooms)
    if idle > max(0.5, TOLERANCE * (after + queue)):
        return part(Kept.MISSED, f"{figure(idle)} waited on average although there was room.")
    if queue >= 0.5:
        return part(Kept.KEPT, f"As many as the limit allows; {figure(queue)} waited.")
    return part(Kept.KEPT, "All who came were admitted." if after > 0 else "Nobody came.")


def judge_load(place: str, promised: float, *, before: Series, after: Series) -> Part:
    """Judge the place that the plan fills most: it carries no more than the plan said.

    All figures are shares of its capacity: of what the limits allow, and of what was measured, both
    at the model's costs.
    """
    share = after.mean

    def part(kept: Kept, because: str) -> Part:
        return Part(
            quantity=Quantity.LOAD,
            name=place,
            where="",
            promised=promised,
            before=before.mean,
            after=share,
            noise=before.noise,
            kept=kept,
            because=because,
        )

    if share is None:
        return part(Kept.UNKNOWN, "Not every broker measured for long enough after it ended.")
    carries = (
        f"At the model's costs it carries {percent(share, 1)} of its capacity; the limits allow "
        f"{percent(promised, 1)}"
    )
    if share > promised * (1 + LOAD_TOLERANCE):
        return part(Kept.MISSED, f"{carries}: more passes, or more are admitted.")
    return part(Kept.KEPT, f"{carries}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayObjective:
    """Hold an objective about the delay of a topic, as it was when the plan began."""

    slo: int
    name: str
    topic: str
    which: str
    """`p99`, `p50` or `mean`."""
    target_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayMinutes:
    """Hold how an objective was judged, minute by minute, around an execution."""

    before_s: Sequence[float] = ()
    after_s: Sequence[float] = ()


def judge_delay(objective: DelayObjective, minutes: DelayMinutes | None) -> Part:
    """Judge the delay of a topic that the plan touches: its objective holds afterwards, or is at
    least missed no more often than before.

    `minutes` is None where the objective was edited or deleted meanwhile.
    """
    before, after = (minutes.before_s, minutes.after_s) if minutes is not None else ((), ())

    def part(kept: Kept, because: str) -> Part:
        return Part(
            quantity=Quantity.DELAY,
            name=objective.topic,
            where=f"{objective.which}, {objective.name}",
            promised=objective.target_s,
            before=fmean(before) if before else None,
            after=fmean(after) if after else None,
            noise=DEVIATIONS * stdev(before) if len(before) > 1 else None,
            kept=kept,
            because=because,
        )

    if minutes is None:
        return part(Kept.UNKNOWN, "The objective was edited or deleted meanwhile.")
    if len(after) < LEAST_DELAYS:
        return part(
            Kept.UNKNOWN,
            f"Its delay is known of {counted(len(after), 'minute')} after it ended; "
            f"{LEAST_DELAYS} are needed.",
        )
    over, over_before = (
        sum(value > objective.target_s for value in values) for values in (after, before)
    )
    held = f"The objective held in {len(after) - over} of {counted(len(after), 'minute')}"
    if not over:
        return part(Kept.KEPT, f"{held}.")
    if over_before and over_before * len(after) >= over * len(before):
        return part(Kept.UNKNOWN, f"{held}; before, it was missed as often.")
    if 2 * over < len(after):
        return part(Kept.UNKNOWN, f"{held}: too few were missed to say more.")
    was = f"in {len(before) - over_before} of {len(before)}" if before else "nothing was judged"
    return part(Kept.MISSED, f"{held}; before, {was}.")
