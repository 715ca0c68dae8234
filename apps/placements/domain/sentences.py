"""Describe placements, and why there is none, in sentences."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from apps.common.formatting import counted, duration, figure
from weir.actions.assign_publishers import MOST_PUBLISHERS
from weir.actions.set_bucket import COUNT
from weir.model.placement import Objectives
from weir.model.plan import Value
from weir.placement.handover import NOBODY, Names, Part
from weir.queueing.simulated_broker import PERCENTILE
from weir.queueing.wait_histogram import TAIL_EVENTS

LEAST_MESSAGES = round(TAIL_EVENTS / (1.0 - PERCENTILE))
"""The number of messages that do not depend on each other without which a percentile has no
bound."""

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
    mean_s: float | None,
    objectives: Objectives,
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
    if objectives.mean_s is not None and mean_s is not None:
        wait += f", the mean {delay(mean_s)}"
    if not objectives:
        return f"{begin}; {wait}."
    verdict = "meets" if meets else "misses"
    return f"{begin}; {wait}, which {verdict} {_targets(objectives)}."


def _targets(objectives: Objectives) -> str:
    """Return what is promised: "the target of 50 ms", or the targets of both."""
    p99_s, mean_s = objectives.p99_s, objectives.mean_s
    if mean_s is None:
        return "" if p99_s is None else f"the target of {delay(p99_s)}"
    if p99_s is None:
        return f"the target of {delay(mean_s)} on average"
    return f"the targets of {delay(p99_s)} and {delay(mean_s)} on average"


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
    slow: Sequence[str] = (),
) -> list[str]:
    """Return what would help, one sentence each.

    `drained`: room of each drained broker. `pinned`: publishers without room, and where they are
    pinned. `too_large`: publishers that send more than any broker takes. `slow`: brokers that
    were measured to take less than their publish rates, so that raising these would not help.
    """
    sentences = []
    if need_brokers:
        sentences.append(
            f"Add {counted(need_brokers, 'broker')} that {_takes(need_brokers)} "
            f"{figure(largest_room_per_s)} msg/s, "
            + (
                f"or make {named(slow)} faster: measured, less is taken there than the publish "
                "rate says."
                if slow
                else "or raise the publish rates of these."
            )
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


def not_in_force(
    name: str,
    *,
    flow: str,
    counted_only: bool,
    others: bool,
    instead: str | None,
    is_stale: bool,
) -> str:
    """Return why nothing is measured of a placement, and what to do.

    `counted_only`: its parts are in force, and only counted. `others`: its parts are in force, and
    brokers let in other publishers. `instead`: the placement of the same line that is in force.
    `is_stale`: the model has changed since, so that it cannot be planned any more.
    """
    if instead:
        return (
            f"{instead}, made by what was measured before, is in force, not {name}. Place "
            f"{instead} again."
        )
    if is_stale:
        return (
            f"{name} is not in force, and the model has changed since it was computed. Place "
            f"{flow} again, plan that and execute the plan; what messages take at each broker is "
            "measured from then on."
        )
    if counted_only:
        return (
            f"The parts of {name} are only counted. Plan it again to enforce them, and execute "
            "that plan; what messages take at each broker is measured from then on."
        )
    if others:
        return (
            f"Brokers let in other publishers of {flow} than {name} places there. Plan it and "
            "execute the plan; what messages take at each broker is measured from then on."
        )
    return (
        f"The parts of {name} are not those in force for {flow}. Plan it and execute the plan; "
        "what messages take at each broker is measured from then on."
    )


def not_measured(
    flow: str,
    *,
    silent: Sequence[str],
    unmeasured: Sequence[str],
    most: tuple[str, int, float] | None,
) -> str:
    """Return why too little is measured of a placement in force, and what to do.

    `silent`: brokers of it whose agents do not report. `unmeasured`: those whose agents report no
    delays. `most`: broker, messages and seconds of the largest measurement; None: there is none.
    """
    if most is not None:
        broker, messages, seconds = most
        return (
            f"Too little is measured to bound what 1 % of the messages of {flow} wait longer "
            f"than: {counted(messages, 'message')} in {duration(seconds)} at {broker}, and fewer "
            f"elsewhere. {_how_long(messages, messages / seconds)}"
        )
    sentences = []
    if unmeasured:
        sentences.append(
            f"Nothing of {flow} was measured yet at {named(unmeasured)}: messages have to pass, "
            "and the agents have to be of this version."
        )
    if silent:
        sentences.append(f"No agent reports from {named(silent)}.")
    return " ".join(sentences)


def parts_move(flow: str) -> str:
    """Return why nothing is measured of a placement whose parts follow the traffic."""
    return (
        f"The parts of {flow} follow its traffic, so that what is measured is not of the "
        "placement's own. Stop the adaptation to measure the placement."
    )


def _how_long(messages: int, rate_per_s: float) -> str:
    """Return for how much longer to measure at least."""
    missing = LEAST_MESSAGES - messages
    if missing <= 0:
        return "What they take still changes too much from one minute to the next. Measure on."
    return (
        f"It takes {LEAST_MESSAGES:,} messages at least: measure for "
        f"{duration(math.ceil(missing / rate_per_s))} more, longer where they come in clusters."
    )


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


def list_effect(flow: str, broker: str, before: Names | None, after: Names | None) -> str:
    """Return what a broker's new list of publishers does, in a sentence."""
    if after is None:
        return f"{broker} is no place for publishers of {flow} any more."
    gone, come = (before or NOBODY) - after, after - (before or NOBODY)
    if before is None:
        others = f"Publishers of {flow} that do not stay at {broker} leave it"
        if not after:
            others = f"No publisher sends {flow} to {broker} meanwhile"
        return f"{others}; all that was sent before passes first."
    if gone and not come:
        who = counted(len(gone), "publisher leaves", "publishers leave")
        return f"{who} {broker}; the step ends once all that was sent there has passed."
    return f"{counted(len(come), 'publisher goes', 'publishers go')} on at {broker}."


def plan_reasons(
    *,
    flow: str,
    outcome: Mapping[str, Any],
    moves: Mapping[str, int],
    mode: str,
    assigned: bool,
    closes: bool,
    opens: bool,
    closing: Sequence[str],
    reliable: bool,
) -> tuple[str, ...]:
    """Return what a reviewer has to know: why these parts, who moves and how, what may wait.

    `moves`: broker -> publishers that go there. `assigned`: brokers get lists of publishers;
    `closes`: for the first time; `opens`: such lists end. `closing`: brokers at which the flow
    enters no more.
    """
    sentences = [_why_parts(flow, outcome)]
    where = ", ".join(f"{count:,} to {broker}" for broker, count in moves.items())
    total = sum(moves.values())
    if assigned and moves:
        them = "it" if total == 1 else "they"
        sentences.append(
            f"{counted(total, 'publisher moves', 'publishers move')}: {where}. Today's brokers "
            f"release {'it' if total == 1 else 'them'} first; all that {them} sent passes every "
            f"broker of {flow}, then parts change, then {them} "
            f"{'is' if total == 1 else 'are'} let in elsewhere. Until then {them} "
            f"{'waits' if total == 1 else 'wait'}."
        )
    elif assigned:
        sentences.append("Every publisher keeps its broker.")
    if closes:
        sentences.append(
            f"From the first step on brokers let in the publishers of {flow} that the model names, "
            "each at one broker and known by the name of its connection, and nobody else. Rights "
            "are of the login, so all publishers of these brokers connect anew once, those of "
            "other topics too."
        )
    if mode == COUNT:
        if moves:
            sentences.append(
                f"Nobody is moved by counting: {counted(total, 'publisher', 'publishers')} would "
                f"go elsewhere, {where}."
            )
        sentences.append(
            "Nothing is held: each broker counts what its part would hold and how long, on the "
            "page of the placement. Plan it again to enforce it."
        )
    elif not assigned:
        sentences.append(
            f"Some broker would get more than {MOST_PUBLISHERS:,} publishers, too many to assign "
            "by name: the plan sets parts alone, and any publisher may send to any of these "
            "brokers."
        )
        if opens:
            sentences.append(f"The lists of publishers of {flow} that are in force end with it.")
        if moves:
            sentences.append(
                f"{counted(total, 'publisher has', 'publishers have')} to connect elsewhere: "
                f"{where}. Their names are on the page of the placement; until they do, what "
                "exceeds the part of their former broker waits there."
            )
    if mode != COUNT and not reliable:
        sentences.append(
            f"{flow} is best effort: what waits for its part beyond a short queue is shed, and "
            "counted as such."
        )
    if closing:
        sentences.append(_closing(f"{flow} enters at {named(closing)} no more", assigned, reliable))
    return tuple(sentences)


def order_effect(flow: str, before: Value | None, after: Value | None) -> str:
    """Return what beginning, changing or ending an order to adapt parts does, in a sentence."""
    if after is None:
        return f"Each broker holds the part of {flow} that a plan gave it, until another plan."
    if before is None:
        return (
            f"Rate and size move between the parts of {flow} by what is measured; their sums stay "
            "as this plan has them."
        )
    return "Rate and size go on moving between the parts, their sums stay as they are."


def order_reasons(
    flow: str,
    before: Value | None,
    after: Value | None,
    *,
    alone: bool,
    ends_first: bool,
    stopped_by: str = "",
) -> tuple[str, ...]:
    """Return what a reviewer has to know of an order to adapt parts; nothing where it stays.

    `alone`: the plan changes nothing else. `ends_first`: it ends before parts or brokers change.
    `stopped_by`: who has stopped the one in force, if somebody has.
    """
    if before == after and not ends_first:
        return ()
    sentences = [f"Parts and publishers of {flow} stay where they are."] if alone else []
    if after is None:
        sentences.append(
            f"The parts of {flow} follow its traffic no longer: what was moved goes back first, "
            "then each broker holds the part that a plan gave it."
        )
        return tuple(sentences)
    if ends_first:
        sentences.append(
            f"The adaptation of the parts of {flow} that is in force ends before they change, and "
            "begins again in the last step."
        )
    if stopped_by:
        sentences.append(
            f"The adaptation of the parts of {flow} was stopped by {stopped_by} and stays so until "
            "an operator resumes it."
        )
    sentences.append(
        f"From the last step on the control plane moves rate and size between the parts of {flow} "
        f"at {named(after['brokers'])} by what agents measure, without another approval: every "
        f"{after['period_s']:g} s, by the last {after['window_s']:g} s. The sums stay "
        f"as they are; an idle broker keeps {100 * after['least_share']:g} % of them where demand "
        "leaves enough, and at least a tenth of that. The page of the placement shows every move, "
        "and operators stop it there at once."
    )
    return tuple(sentences)


def _closing(closes: str, assigned: bool, reliable: bool) -> str:
    if assigned:
        return f"{closes}, once all that its publishers had sent there has passed."
    if reliable:
        return (
            f"{closes}: reliable messages that were acknowledged there and not handed on wait "
            "there. Let its publishers leave and let it drain first."
        )
    return f"{closes}: what waits there is lost."


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
    slo, slo_mean = contract["slo_p99_s"], contract.get("slo_mean_s")
    if slo is not None:
        wait += f", the target {delay(slo)}"
    if slo_mean is not None:
        wait += f"; the mean is {delay(outcome['mean_s'])}, the target {delay(slo_mean)}"
    return f"{wait}."
