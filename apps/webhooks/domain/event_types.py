"""Name events by what was done to what: `weir.plan.approve`.

The words are those of the history, so that whoever reads one knows the other.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from weir.errors import InvalidProblem

FIRST = "weir"
EVERYTHING = "*"
TEST = f"{FIRST}.webhook.test"
MOST = 50


@dataclass(frozen=True, slots=True)
class Kind:
    """What events are about: how people call it, and what can happen to it."""

    title: str
    actions: tuple[str, ...]


_EDITS = ("create", "update", "delete")
_RULES = (*_EDITS, "fire")
_COMPUTED = ("start", "cancel", "rerun")
_DECIDED = ("accept", "reject", "undo")

KINDS = {
    "plan": Kind(
        "Plans",
        (
            *("create", "update", "submit", "withdraw", "approve", "reject", "lapse"),
            *("expire", "lose"),
            *("accept_overload", "dry_run", "execute", "finish", "break_off", "roll_back"),
            *("go_stale", "supersede", "discard", "open_change", "change_approved"),
            *("change_refused", "change_waits", "change_moved", "change_deleted"),
            "change_doubled",
        ),
    ),
    "execution": Kind(
        "Executions of plans",
        (
            *("open", "start", "pause", "resume", "stop", "roll_back", "settle", "succeed"),
            *("fail", "decide", "adopt_outcome", "revert_outcome"),
            *("step_completed", "step_aborted", "step_dead"),
        ),
    ),
    "run": Kind("Computations", ("start", "cancel")),
    "overlay_evaluation": Kind("Comparisons of overlays", _COMPUTED),
    "study": Kind("Studies", (*_COMPUTED, "rename", "delete")),
    "correlation_suggestion": Kind("Suggested correlation keys", _DECIDED),
    "agent": Kind("Agents", ("enrol", "update", "revoke", "remove")),
    "policy": Kind("Policies", ("update",)),
    "automatic_stop": Kind("Stops of everything automatic", ("stop", "resume")),
    "schedule": Kind("Schedules", _RULES),
    "trigger": Kind("Triggers", _RULES),
    "fit": Kind("Fitted resource models", ("apply", "discard", "undo")),
    "calibration_settings": Kind("Settings of calibration", ("update",)),
    "demand_estimate": Kind("Estimates of demand", ("estimate",)),
    "demand_settings": Kind("Settings of demand", ("update",)),
    "mapping_settings": Kind("Settings of mapping", ("update",)),
    "interest_import": Kind("Imports of interests", ("import", "cancel")),
    "record_batch": Kind("Records from files, or set aside", ("import", "replay", "discard")),
    "record_settings": Kind("Settings of records", ("update",)),
    "system": Kind("Systems", (*_EDITS, "set_access", "set_retention", "adopt", "adopt_restored")),
    "broker": Kind("Brokers", (*_EDITS, "lose", "correct")),
    "link": Kind("Links", _EDITS),
    "overlay": Kind("Overlays", _EDITS),
    "topic": Kind("Topics", (*_EDITS, "stop_adaptation", "resume_adaptation")),
    "publisher": Kind("Publishers", _EDITS),
    "consumer_class": Kind("Consumer classes", _EDITS),
    "utility_function": Kind("Utility functions", _EDITS),
    "slo": Kind("SLOs", (*_EDITS, "burn", "spend_budget", "recover")),
    "correlation_key": Kind("Correlation keys", _EDITS),
    "subscriber": Kind("Subscribers", _EDITS),
    "stream": Kind("Streams", _EDITS),
    "group": Kind("Groups", _EDITS),
    "connection": Kind("Connections", _EDITS),
    "webhook": Kind("Webhooks", (*_EDITS, "rotate_secret", "disable")),
    "channel": Kind("Channels of chats", _EDITS),
    "user": Kind("Accounts", ("create", "update", "change_password")),
    "token": Kind("Tokens", ("create", "revoke")),
    "session": Kind("Sign-ins", ("sign_in", "refuse_sign_in", "sign_out")),
}
"""Kinds of the history, and their actions; tests compare with all that is recorded in them."""

PRIVATE = ("user", "token", "session")
"""Kinds that only a webhook gets which names them."""

_PATTERN = re.compile(rf"{FIRST}\.([a-z_]+)\.(\*|[a-z_]+)")


def types_of(kind: str) -> list[str]:
    """Return the types of all events of a kind."""
    return [type_of(kind, action) for action in KINDS[kind].actions]


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
        if match[2] != EVERYTHING and match[2] not in KINDS[match[1]].actions:
            ways = ", ".join(KINDS[match[1]].actions)
            message = f'Nothing of that kind does "{match[2]}"; there are {ways}.'
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
