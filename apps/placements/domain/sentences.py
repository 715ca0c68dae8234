"""Describe placements, and why there is none, in sentences."""

from collections.abc import Mapping, Sequence
from typing import Any

from apps.common.formatting import counted, figure

LISTED = 3
"""The number of names that a sentence lists before it counts the others."""


def named(names: Sequence[str]) -> str:
    """Return the first names, and how many others there are."""
    more = len(names) - LISTED
    first = ", ".join(names[:LISTED])
    return f"{first} and {more:,} more" if more > 0 else first


def delay(seconds: float) -> str:
    """Return a delay in the unit that people say it in."""
    for unit, length in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= length:
            return f"{figure(seconds / length)} {unit}"
    return f"{figure(seconds * 1e6)} µs"


def placement_sentence(
    *,
    topic: str,
    publishers: int,
    brokers: int,
    moved: int,
    p99_s: float | None,
    slo_p99_s: float | None,
    meets: bool | None,
) -> str:
    """Return what a placement does and what messages wait, without its name."""
    begin = (
        f"{counted(publishers, 'publisher')} of {topic} on {counted(brokers, 'broker')}, "
        f"{counted(moved, 'moves', 'move')}"
    )
    if p99_s is None:
        return f"{begin}; delays grow without bound."
    wait = f"the 99th percentile is {delay(p99_s)}"
    if slo_p99_s is None:
        return f"{begin}; {wait}."
    verdict = "meets" if meets else "misses"
    return f"{begin}; {wait}, which {verdict} the target of {delay(slo_p99_s)}."


def no_room(topic: str, publishers: int, rate_per_s: float) -> str:
    """Return who has no room."""
    verb = "finds" if publishers == 1 else "find"
    return (
        f"{counted(publishers, 'publisher')} of {topic} with {figure(rate_per_s)} msg/s {verb} no "
        "room."
    )


def ways_out(
    *,
    need_brokers: int | None,
    largest_room_per_s: float,
    drained: Mapping[str, float],
    pinned: Sequence[tuple[str, str]],
    too_large: Sequence[tuple[str, float]],
) -> list[str]:
    """Return what would help, one sentence each.

    `drained`: room of each drained broker. `pinned`: publishers without room, and where they are
    pinned. `too_large`: publishers that send more than any broker takes.
    """
    sentences = []
    if need_brokers:
        sentences.append(
            f"Add {counted(need_brokers, 'broker')} that {_takes(need_brokers)} "
            f"{figure(largest_room_per_s)} msg/s, or raise the publish rates of these."
        )
    if pinned:
        places = sorted({broker for _, broker in pinned})
        sentences.append(
            f"Unpin {named([name for name, _ in pinned])}, or make room at {named(places)}."
        )
    if too_large:
        names = named([name for name, _ in too_large])
        most = max(rate for _, rate in too_large)
        sentences.append(
            f"Split {names}: one publisher sends up to {figure(most)} msg/s, and no broker takes "
            f"more than {figure(largest_room_per_s)} msg/s."
        )
    if free := {name: room for name, room in drained.items() if room > 0}:
        sentences.append(
            f"Do not drain {named(sorted(free))}: there is room for {figure(sum(free.values()))} "
            "msg/s."
        )
    return sentences or ["Raise the publish rates of the brokers, or lower those of the topic."]


def _takes(brokers: int) -> str:
    return "takes" if brokers == 1 else "take"


def brokers_used(outcome: Mapping[str, Any]) -> int:
    """Return how many brokers serve publishers of the topic."""
    return sum(1 for share in outcome["shares"] if share["publishers"])
