"""Name events by what was done to what: `weir.plan.approve`.

The words are those of the history, so that whoever reads one knows the other.
"""

import re
from collections.abc import Iterable

from weir.errors import InvalidProblem

FIRST = "weir"
EVERYTHING = "*"
TEST = f"{FIRST}.webhook.test"
MOST = 50

KINDS = {
    "plan": "Plans",
    "execution": "Executions of plans",
    "run": "Computations",
    "overlay_evaluation": "Comparisons of overlays",
    "study": "Studies",
    "correlation_suggestion": "Suggested correlation keys",
    "agent": "Agents",
    "policy": "Policies",
    "schedule": "Schedules",
    "trigger": "Triggers",
    "fit": "Fitted resource models",
    "interest_import": "Imports of interests",
    "system": "Systems",
    "broker": "Brokers",
    "link": "Links",
    "overlay": "Overlays",
    "topic": "Topics",
    "publisher": "Publishers",
    "consumer_class": "Consumer classes",
    "utility_function": "Utility functions",
    "slo": "SLOs",
    "correlation_key": "Correlation keys",
    "subscriber": "Subscribers",
    "stream": "Streams",
    "group": "Groups",
    "connection": "Connections",
    "webhook": "Webhooks",
    "user": "Accounts",
    "token": "Tokens",
    "session": "Sign-ins",
}
"""Kinds of the history -> how people call them."""

PRIVATE = ("user", "token", "session")
"""Kinds that only a webhook gets which names them."""

_PATTERN = re.compile(rf"{FIRST}\.([a-z_]+)\.(\*|[a-z_]+)")


def type_of(kind: str, action: str) -> str:
    """Return the type of an event."""
    return f"{FIRST}.{_word(kind)}.{_word(action)}"


def check_patterns(patterns: Iterable[str], field: str = "types") -> None:
    """Raise InvalidProblem at the first pattern that no event could be of."""
    for index, pattern in enumerate(patterns):
        if pattern == EVERYTHING:
            continue
        match = _PATTERN.fullmatch(pattern)
        if match is None:
            message = (
                f'Write {FIRST}.plan.approve, {FIRST}.plan.* or {EVERYTHING}, not "{pattern}".'
            )
            raise InvalidProblem(f"{field}[{index}]", message)
        if match[1] not in KINDS:
            message = f"There is no such kind of event; there are {', '.join(KINDS)}."
            raise InvalidProblem(f"{field}[{index}]", message)


def is_wanted(event_type: str, patterns: Iterable[str]) -> bool:
    """Return whether one of the patterns fits. `*` is everything but accounts and sign-ins."""
    kind = event_type.split(".")[1]
    fitting = {event_type, f"{FIRST}.{kind}.*"}
    if kind not in PRIVATE:
        fitting.add(EVERYTHING)
    return not fitting.isdisjoint(patterns)


def _word(name: str) -> str:
    return re.sub(r"[^a-z]+", "_", name.lower()).strip("_") or "other"
