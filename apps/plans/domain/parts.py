"""Judge the parts of what a plan promised: rates, limits of consumers, the fullest place, delays,
what links carry, what receivers filter, how long messages wait at a divided bucket.

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
from apps.plans.domain.verdicts import DEVIATIONS, ENOUGH, LEAST_BLOCKS, LEAST_NOISE

TOLERANCE = 0.02
"""A rate or a number of consumers may be off by this share: agents count over seconds, and a bucket
lets a burst pass beyond its rate."""

LOAD_TOLERANCE = 0.05
"""The same of a load, which adds up what is tolerated of many rates."""

WAIT_TOLERANCE = 0.05
"""The same of a wait: agents know it as the upper edge of a bin, 4.4 % too long at most."""

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
    TRAFFIC = "traffic"
    """What all links carry, in messages per second."""
    FILTERING = "filtering"
    """What receivers spend on messages that they did not want, in work per second."""
    WAIT = "wait"
    """How long messages wait at the parts of a topic's bucket, in seconds."""


UNITS = {
    Quantity.RATE: "msg/s",
    Quantity.CONSUMERS: "consumers",
    Quantity.LOAD: "of capacity",
    Quantity.DELAY: "s",
    Quantity.TRAFFIC: "msg/s",
    Quantity.FILTERING: "work/s",
    Quantity.WAIT: "s",
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
    """Of the topic, class, broker or link; `links` or `receivers`: of all together."""
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
        if self.quantity in (Quantity.DELAY, Quantity.WAIT):
            return f"{self.quantity.value} ({self.where}) of {self.name}"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """Hold what something cost and what came of it, block by block: messages on links and messages
    that came, or work of filtering and messages that were wanted, per second."""

    amounts: Sequence[float] = ()
    came: Sequence[float] = ()
    brokers: Sequence[str] = ()
    """Whose agents measured, by name."""
    basis: str = ""
    """What amounts were worked out by: those of another basis cannot be compared."""
    because: str = ""
    """Why nothing is known, where that is another reason than too little measured."""

    @property
    def mean(self) -> float | None:
        """Return the mean amount; None: too few blocks were measured."""
        return Series(blocks=self.amounts).mean

    @property
    def per_message(self) -> float | None:
        """Return the amount for each message that came, of all blocks together; None: too few were
        measured, or nothing came."""
        if len(self.amounts) < LEAST_BLOCKS or sum(self.came) <= 0:
            return None
        return sum(self.amounts) / sum(self.came)

    @property
    def noise(self) -> float:
        """Return by how much the amount for each message varies, as much as blocks have messages;
        of a window that has it."""
        ratio = self.per_message
        assert ratio is not None
        off = [amount - ratio * came for amount, came in zip(self.amounts, self.came, strict=True)]
        return max(DEVIATIONS * stdev(off) / fmean(self.came), LEAST_NOISE * ratio)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    """How sentences call an amount that is carried."""

    name: str
    carries: str
    """The figure stands for `{}`."""
    of: str
    """For each of what."""
    none: str


_WORDS = {
    Quantity.TRAFFIC: _Words(
        name="links",
        carries="links carry {} messages",
        of="message that comes",
        none="Links carried nothing",
    ),
    Quantity.FILTERING: _Words(
        name="receivers",
        carries="receivers filter with {} work",
        of="message that they wanted",
        none="Nothing was filtered",
    ),
}


def judge_carried(
    quantity: Quantity, promised: tuple[float, float], before: Carried, after: Carried
) -> Part:
    """Judge traffic on links, or what receivers filter, by what it is for each message that comes.

    `promised` is what the plan says of before and after, at the traffic that it was made with. What
    was measured before, changed as much, is what is promised of each message of the traffic that
    came after: traffic that grows misses no promise, and traffic that falls keeps none.
    """
    words, ratio, ratio_after = _WORDS[quantity], before.per_message, after.per_message
    goal = None
    if ratio and promised[0] > 0:
        goal = ratio * promised[1] / promised[0]
    came = Series(blocks=after.came).mean

    def part(kept: Kept, because: str) -> Part:
        return Part(
            quantity=quantity,
            name=words.name,
            where="",
            promised=None if goal is None or came is None else goal * came,
            before=before.mean,
            after=after.mean,
            noise=Series(blocks=before.amounts).noise,
            kept=kept,
            because=because,
        )

    for side, when in ((before, "before it began"), (after, "after it ended")):
        if side.per_message is None:
            why = side.because or f"Too little was measured, or came, {when}."
            return part(Kept.UNKNOWN, why)
    assert ratio is not None
    assert ratio_after is not None
    if others := set(before.brokers) ^ set(after.brokers):
        names = ", ".join(sorted(others))
        return part(Kept.UNKNOWN, f"{names} measured only on one side of the execution.")
    if before.basis != after.basis:
        return part(Kept.UNKNOWN, "Topics, interests or weights of the map were edited meanwhile.")
    if goal is None:
        when = "before it began" if promised[0] > 0 else "when the plan was made"
        return part(Kept.UNKNOWN, f"{words.none} {when}, so no change can be compared.")
    change, wanted, noise = ratio_after - ratio, goal - ratio, before.noise
    moved = (
        f"For each {words.of} {words.carries.format(figure(ratio_after))}, "
        f"{figure(ratio)} before; {figure(goal)} was promised"
    )
    if wanted >= 0:
        return part(Kept.KEPT if change <= wanted + noise else Kept.MISSED, f"{moved}.")
    if -wanted <= noise and change <= noise:
        return part(
            Kept.UNKNOWN, f"{moved}, which is less of a change than it varies by ({figure(noise)})."
        )
    fell = change < -noise and change <= ENOUGH * wanted + noise
    return part(Kept.KEPT if fell else Kept.MISSED, f"{moved}.")


def judge_wait(topic: str, promised_s: float, *, before: Series, after: Series) -> Part:
    """Judge how long messages wait at the parts of a topic's bucket: by the 99th percentile at the
    broker where they wait longest, of which the plan said what it is with processing.

    Blocks are such percentiles of the last minute; their mean is judged.
    """
    wait_s = after.mean

    def part(kept: Kept, because: str) -> Part:
        return Part(
            quantity=Quantity.WAIT,
            name=topic,
            where="p99 at its bucket",
            promised=promised_s,
            before=before.mean,
            after=wait_s,
            noise=before.noise,
            kept=kept,
            because=because,
        )

    if wait_s is None:
        return part(
            Kept.UNKNOWN,
            "Too little waited or was measured at its bucket in the minutes after it ended.",
        )
    waits = (
        f"Of each minute the p99 of the wait was {figure(1e3 * wait_s)} ms on average; "
        f"{figure(1e3 * promised_s)} ms was promised of wait and processing"
    )
    if wait_s > promised_s * (1 + WAIT_TOLERANCE):
        return part(Kept.MISSED, f"{waits}.")
    return part(Kept.KEPT, f"{waits}.")
