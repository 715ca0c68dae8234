"""Say why parts move, why they stay, and what is waited for."""

import math
from collections.abc import Mapping, Sequence

from weir.placement.handover import Part

NAMED = 3
"""The brokers that a sentence names before it counts the others."""


def listed(brokers: Sequence[str]) -> str:
    """Return names as a sentence lists them: `a, b and c`."""
    if len(brokers) > NAMED:
        return f"{', '.join(brokers[:NAMED])} and {len(brokers) - NAMED} more"
    return brokers[0] if len(brokers) == 1 else f"{', '.join(brokers[:-1])} and {brokers[-1]}"


def moved_text(
    cause: str,
    gain: Sequence[str],
    before: Mapping[str, Part],
    after: Mapping[str, Part],
    *,
    drained: bool = False,
) -> str:
    """Say why parts move and what the broker that gains most gets. `drained`: a backlog is gone
    that had more."""
    if not gain:
        return "Parts are made whole again, in the proportions that they have."
    why = {
        "shift": "What waited is gone, and rates return to the traffic"
        if drained
        else f"Rates follow the traffic of {listed(gain)}",
        "backlog": f"Messages wait at {listed(gain)}",
        "bursts": f"Sizes follow the bursts of {listed(gain)}",
    }[cause]
    first = gain[0]
    was, gets = before[first], after[first]
    changes = [
        f"{now:.4g} {unit} instead of {former:.4g}"
        for now, former, unit in (
            (gets.rate_per_s, was.rate_per_s, "tokens/s"),
            (gets.size, was.size, "tokens in its bucket"),
        )
        if f"{now:.4g}" != f"{former:.4g}"
    ]
    most = f"{first} gets {' and '.join(changes)}" if changes else f"{first} gets a little more"
    return f"{why}: {most}{' (the most)' if len(gain) > 1 else ''}."


def shared_anew_text(frozen: Sequence[str]) -> str:
    """Say that parts which add up to less than the contract are enlarged again."""
    beside = f" What {listed(frozen)} may hold stays." if frozen else ""
    return f"Parts added up to less than the contract; they are enlarged again.{beside}"


def unconfirmed_text(brokers: Sequence[str], silent: Sequence[str], size: str) -> str:
    """Say which brokers have not confirmed a part yet, `smaller` or `larger`, and who is silent."""
    has = "has" if len(brokers) == 1 else "have"
    text = f"{listed(brokers)} {has} not confirmed the {size} part"
    if silent:
        text += f"; the agent{'s' if len(silent) > 1 else ''} of {listed(silent)} "
        text += "are silent" if len(silent) > 1 else "is silent"
    return f"{text}."


ENDED = "The order has ended: parts return to those in force."
EXCEEDED = "Parts add up to more than the contract in force: they return to those in force."
CHANGED = "Parts were changed meanwhile."
NO_TOPIC = "The topic is no longer in the model: parts return to those in force."
UNSETTLED = "A plan asks for other parts than those in force: parts stay as they are."
NO_PARTS = "No part of the bucket is enforced."
NOBODY_REPORTS = "No agent of a broker with a part reports: parts stay as they are."


def stopped_text(name: str) -> str:
    """Say that a person stopped it."""
    return f"{name} stopped it: parts return to those in force."


def busy_text(execution: str) -> str:
    """Say that an execution is under way."""
    return (
        f"{execution} is under way: parts return to those in force and stay there until it has "
        "ended."
    )


def silent_text(brokers: Sequence[str]) -> str:
    """Say whose parts stay because nobody reports from there, or has only begun to."""
    theirs = "its part stays" if len(brokers) == 1 else "their parts stay"
    return f"Too little is measured at {listed(brokers)}: {theirs}."


def late_text(brokers: Sequence[str]) -> str:
    """Say whose parts stay because their agents report and confirm nothing."""
    does, theirs = ("does", "its part stays") if len(brokers) == 1 else ("do", "their parts stay")
    return f"{listed(brokers)} {does} not confirm what is asked: {theirs}."


def alone_text(broker: str) -> str:
    """Say that nobody is there to give anything to, or to take it from."""
    return f"Of the brokers of the order only {broker} has a part: there is nothing to move."


def exceeding_text(brokers: Sequence[str]) -> str:
    """Say who may hold more than is left for it, so that nothing may move."""
    if not brokers:
        return "Brokers may hold more than the contract in force: parts stay as they are."
    verb = "confirms" if len(brokers) == 1 else "confirm"
    return (
        f"{listed(brokers)} may hold more than the contract leaves: no part moves before "
        f"{'it' if len(brokers) == 1 else 'they'} {verb} what is asked."
    )


def measures_first_text(seconds: float) -> str:
    """Say that traffic is only measured yet, and for how long."""
    return f"Traffic is measured first: parts may move in {math.ceil(seconds)} s."
