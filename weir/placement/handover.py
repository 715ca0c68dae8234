"""From parts of a bucket and lists of publishers in force to those of a placement, in steps: what
shrinks comes first.

A step begins when every broker has confirmed the one before, so that at any moment each broker of
a step has its part of before or of after it. In the first step no part grows; only then do others.
So the parts add up to no more than the larger of the two whole buckets, whenever each broker
follows (tests/weir/placement/test_handover.py looks at every interleaving).

A broker at which the topic enters without a part, or with one that is only counted, is bounded by
nothing. It gets its part first, and one of nothing where the placement does not use it. The topic's
source keeps a part of nothing when its part ends: without any part at all the topic would enter
there unbounded. Where parts are to be counted alone nothing is bounded, and there is one step.

Publishers that move leave first: the first step shortens lists to those who stay, and is confirmed
once all that the others had sent has passed every broker of the topic. Then parts follow, and the
last step lets publishers in at their new brokers. So nobody is in two lists at once, and nobody
sends more to a broker than its part was made for. Taking the steps back goes the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One broker's part of a bucket."""

    rate_per_s: float
    size: float
    count_only: bool = False


NOTHING = Part(rate_per_s=0.0, size=0.0)
NOBODY: frozenset[str] = frozenset()

Change = tuple[Part | None, Part | None]
"""A part before and after; None: the broker has none."""

Names = frozenset[str]
ListChange = tuple[Names | None, Names | None]
"""A list of publishers before and after; None: the broker has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoverStep:
    """Changes that may be carried out together, by broker."""

    parts: Mapping[str, Change] = field(default_factory=dict)
    lists: Mapping[str, ListChange] = field(default_factory=dict)


def handover_steps(
    parts: tuple[Mapping[str, Part], Mapping[str, Part]],
    lists: tuple[Mapping[str, Names], Mapping[str, Names]],
    *,
    staying: Mapping[str, Names],
    source: str = "",
) -> list[HandoverStep]:
    """Return the changes of parts and lists, each given before and after, in four steps at most:
    lists shrink, parts shrink, parts grow, lists grow.

    `staying`: broker -> who sends to it today, while the topic has no lists; where it does not
    enter nobody does. `source`: see
    `part_steps`; parts after are enforced. Without lists after, those before end, and the topic
    takes every publisher where it enters.
    """
    before, after = lists
    enters = {broker for broker, part in parts[0].items() if part.rate_per_s > 0}
    if source and all(part.count_only for part in parts[0].values()):
        enters.add(source)
    brokers = {*before, *after, *(enters if after else ())}
    shrinking: dict[str, ListChange] = {}
    growing: dict[str, ListChange] = {}
    for broker in sorted(brokers):
        now, wanted = before.get(broker), after.get(broker)
        if now is None and wanted is None and before:
            continue  # nobody is let in there, as long as others have lists
        here = now or NOBODY
        if not before and broker in enters:
            here = staying.get(broker, NOBODY)
        # Where lists end, who is where the topic goes on entering may stay there.
        stay = (wanted or NOBODY) if after else here if broker in parts[1] else NOBODY
        least = here & stay
        if now != least:
            shrinking[broker] = (now, least)
        if least != wanted:
            growing[broker] = (least, wanted)
    changes = [
        HandoverStep(lists=shrinking),
        *(HandoverStep(parts=step) for step in part_steps(*parts, source=source)),
        HandoverStep(lists=growing),
    ]
    return [step for step in changes if step.parts or step.lists]


def part_steps(
    before: Mapping[str, Part], after: Mapping[str, Part], *, source: str = ""
) -> list[dict[str, Change]]:
    """Return the changes of each step, by broker; none where all is so already.

    `source`: the broker at which the topic enters while no part of it is enforced; empty: none.
    `after` is enforced or counted as a whole.
    """
    if any(part.count_only for part in after.values()):
        changes = {
            broker: (before.get(broker), after.get(broker))
            for broker in sorted({*before, *after})
            if before.get(broker) != after.get(broker)
        }
        return [changes] if changes else []
    shrinking: dict[str, Change] = {}
    growing: dict[str, Change] = {}
    split = any(not part.count_only for part in before.values())
    for broker in sorted({*before, *after, *([source] if source else [])}):
        now = before.get(broker)
        ended = NOTHING if broker == source else None
        if now.count_only if now else broker == source and not split:
            shrinking[broker] = (now, after.get(broker, ended))
            continue
        wanted = after.get(broker, now if now == NOTHING else ended)
        if now is None and wanted == NOTHING:
            continue  # it is closed already
        least = _smaller(now, wanted)
        if least != now:
            shrinking[broker] = (now, least)
        if wanted != least:
            growing[broker] = (least, wanted)
    return [changes for changes in (shrinking, growing) if changes]


def _smaller(now: Part | None, wanted: Part | None) -> Part | None:
    if now is None or wanted is None:
        return None
    if now == NOTHING:
        return NOTHING
    return Part(rate_per_s=min(now.rate_per_s, wanted.rate_per_s), size=min(now.size, wanted.size))
