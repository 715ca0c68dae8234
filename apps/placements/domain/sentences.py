"""Describe placements, and why there is none, in sentences."""

from collections.abc import Mapping, Sequence
from typing import Any

from apps.common.formatting import counted, figure
from weir.actions.set_bucket import COUNT
from weir.placement.handover import Part

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


def plan_effect(flow: str, broker: str, before: Part | None, after: Part | None) -> str:
    """Return what a broker's new part of a bucket does, in a sentence."""
    if after is None:
        return f"Publishers of {flow} are refused at {broker} from then on."
    if after.rate_per_s == 0:
        return f"Nothing of {flow} enters at {broker} any more; its publishers are refused."
    if after.count_only:
        return f"What exceeds the part at {broker} is counted and passes."
    if before is None or before.rate_per_s == 0:
        return f"Publishers of {flow} may send to {broker}; what exceeds the part waits there."
    return f"What exceeds the new part at {broker} waits there."


def plan_reasons(
    *,
    flow: str,
    outcome: Mapping[str, Any],
    moves: Mapping[str, int],
    mode: str,
    closing: Sequence[str],
    reliable: bool,
) -> tuple[str, ...]:
    """Return what a reviewer has to know: why these parts, who connects elsewhere, what may wait.

    `moves`: broker -> publishers that have to connect to it anew. `closing`: brokers at which the
    flow enters no more.
    """
    sentences = [_why_parts(flow, outcome)]
    if moves:
        where = ", ".join(f"{count:,} to {broker}" for broker, count in moves.items())
        total = sum(moves.values())
        sentences.append(
            f"{counted(total, 'publisher has', 'publishers have')} to connect elsewhere: {where}. "
            "Their names are on the page of the placement; until they do, what exceeds the part of "
            "their former broker waits there."
        )
    if mode == COUNT:
        sentences.append(
            "Nothing is held: each broker counts what its part would hold and how long, on the "
            "page of the placement. Plan it again to enforce it."
        )
    elif not reliable:
        sentences.append(
            f"{flow} is best effort: what waits for its part beyond a short queue is shed, and "
            "counted as such."
        )
    if closing:
        refused = f"{flow} enters at {named(closing)} no more"
        sentences.append(
            f"{refused}: reliable messages that were acknowledged there and not handed on wait "
            "there. Let its publishers leave and let it drain first."
            if reliable
            else f"{refused}: what waits there is lost."
        )
    return tuple(sentences)


def _why_parts(flow: str, outcome: Mapping[str, Any]) -> str:
    contract = outcome["contract"]
    brokers = counted(brokers_used(outcome), "broker")
    whole = (
        f"{figure(contract['token_rate_per_s'])} tokens/s and {figure(contract['bucket'])} tokens"
    )
    parts = f"The bucket of {flow}, {whole}, is split over {brokers} by what its publishers send"
    if outcome["p99_s"] is None:
        return f"{parts}; delays grow without bound."
    wait = f"{parts}: the 99th percentile is {delay(outcome['p99_s'])}"
    slo = contract["slo_p99_s"]
    if slo is None:
        return f"{wait}."
    return f"{wait}, the target {delay(slo)}."
