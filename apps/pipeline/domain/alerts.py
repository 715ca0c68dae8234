"""Say of which alerts of an objective people are called, and what of that changed.

An alert that fires goes on until it has not fired for its short stretch, so that one that comes and
goes is one. A spent budget goes on for the short stretch of the slowest alert.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from apps.pipeline.domain.error_budget import ALERTS, Compliance, Severity
from apps.pipeline.domain.steps import MINUTE_S


class AlertAction(StrEnum):
    """What becomes of an objective, as the history names it."""

    BURN = "burn"
    SPEND_BUDGET = "spend_budget"
    RECOVER = "recover"


@dataclass(frozen=True, slots=True, kw_only=True)
class Calls:
    """What people are called for, of one objective."""

    fired_s: tuple[int | None, ...] = (None,) * len(ALERTS)
    """Of each of `ALERTS` that goes on, when it fired last, Unix seconds."""
    spent_s: int | None = None
    """When the budget was spent last, Unix seconds; None: it is not."""

    @property
    def alert(self) -> Severity | None:
        """Return the gravest alert that goes on."""
        going = {
            alert.severity
            for alert, fired_s in zip(ALERTS, self.fired_s, strict=True)
            if fired_s is not None
        }
        return next((severity for severity in Severity if severity in going), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallChange:
    """An alert or a spent budget that began or ended."""

    action: AlertAction
    before: dict[str, Any]
    after: dict[str, Any]


def calls_after(before: Calls, held: Compliance, *, since_s: int, until_s: int) -> Calls:
    """Return what people are called for after what was counted until then, Unix seconds.

    What fired before `since_s`, the beginning of the promise, was another one's.
    """

    def goes_on(last_s: int | None, fires: bool, short_minutes: int) -> int | None:
        if fires:
            return until_s
        ended = last_s is None or last_s <= since_s or until_s - last_s >= short_minutes * MINUTE_S
        return None if ended else last_s

    slowest = held.burns[-1].short_minutes
    return Calls(
        fired_s=tuple(
            goes_on(last_s, burn.fires, burn.short_minutes)
            for last_s, burn in zip(before.fired_s, held.burns, strict=True)
        ),
        spent_s=goes_on(before.spent_s, held.is_spent, slowest),
    )


def call_changes(before: Calls, after: Calls) -> Iterator[CallChange]:
    """Yield what began and ended between the two, first what began."""
    over: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    if before.alert != after.alert:
        pair = {"alert": before.alert}, {"alert": after.alert}
        if _grade(after.alert) > _grade(before.alert):
            yield CallChange(action=AlertAction.BURN, before=pair[0], after=pair[1])
        else:
            over[0].update(pair[0])
            over[1].update(pair[1])
    was_spent, is_spent = before.spent_s is not None, after.spent_s is not None
    if was_spent != is_spent:
        spent = {"budget_spent": was_spent}, {"budget_spent": is_spent}
        if is_spent:
            yield CallChange(action=AlertAction.SPEND_BUDGET, before=spent[0], after=spent[1])
        else:
            over[0].update(spent[0])
            over[1].update(spent[1])
    if over[0]:
        yield CallChange(action=AlertAction.RECOVER, before=over[0], after=over[1])


def _grade(severity: Severity | None) -> int:
    return 0 if severity is None else len(Severity) - list(Severity).index(severity)
