"""Read what a system's policy asks of a plan."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from apps.plans.models import Plan
from apps.policies.domain.rules import (
    approval_expires_at,
    approvals_needed,
    auto_approves,
    execution_bounds,
)
from apps.policies.domain.terms import AutoExecute, Terms
from apps.policies.domain.windows import WindowState, window_state
from apps.policies.models import AutomaticStop
from apps.policies.selectors import in_force

HOLDS = "The maintenance window has closed."


@dataclass(frozen=True, kw_only=True)
class Ruling:
    """Hold what the policy says about one plan at one moment; computed as far as it is asked."""

    plan: Plan
    terms: Terms
    now: datetime
    auto_approval_by: frozenset[int] = frozenset()
    """Who decided what the policy approves by itself."""
    stop: AutomaticStop | None = None
    """What keeps Weir from doing anything by itself, if anything does."""

    @cached_property
    def _needed(self) -> tuple[int, str]:
        return approvals_needed(self.terms, self.plan.kind, self.plan.blast_radius)

    @cached_property
    def _window(self) -> WindowState:
        return window_state(self.terms, self.now)

    @cached_property
    def approves_by_itself(self) -> str:
        """Return why Weir may approve it without anybody; empty: it may not. Reads the document.

        A plan of somebody who decided what may go without anybody needs another person: the policy
        would be their own approval, given in advance. An overload always needs somebody, too.
        """
        terms, plan = self.terms, self.plan
        may_execute = plan.by_itself and terms.auto_execute == AutoExecute.ON
        if self.stop is not None or not (may_execute or terms.auto_approve_max_share > 0):
            return ""
        if self.auto_approval_by & plan.people_behind or plan.accepted_overload:
            return ""
        if may_execute and plan.rolls_back:
            return f"Weir takes back what it carried out by itself: {plan.title}."
        if may_execute:
            bounds = execution_bounds(terms, plan.content, plan.blast_radius)
            if bounds.kept:
                return f"The policy lets Weir carry it out by itself. {bounds.because}"
        return auto_approves(terms, plan.content, plan.blast_radius) or ""

    @property
    def approvals_needed(self) -> int:
        """Return how many people must approve."""
        return self._needed[0]

    @property
    def reason(self) -> str:
        """Return which rule asks for it."""
        return self.approves_by_itself or self._needed[1]

    @property
    def window_open(self) -> bool:
        """Return whether it may begin now."""
        return self._window.open

    @property
    def next_window_at(self) -> datetime | None:
        """Return when it may begin, where it may not now."""
        return self._window.next_opens_at

    @property
    def window_text(self) -> str:
        """Return when it may begin, as a sentence."""
        return self._window.text

    @cached_property
    def _stop_of_execution(self) -> AutomaticStop | None:
        """Return what stops the plan's execution: of those that Weir began."""
        execution = self.plan.execution if self.stop is not None else None
        starter = None if execution is None else execution.started_by
        return self.stop if starter is not None and starter.automatic else None

    @property
    def may_go_on(self) -> bool:
        """Return whether a plan under way may begin its next step."""
        return self._window.open and self._stop_of_execution is None

    def opened_since(self, moment: datetime) -> bool:
        """Return whether an operator's decision of that moment to let the plan go on has served its
        purpose: changes have been allowed since, or all automatic action was stopped later."""
        if self._stop_of_execution is not None:
            return self._stop_of_execution.created_at > moment
        if self._window.open:
            return True
        then = window_state(self.terms, moment)
        return then.open or (then.next_opens_at is not None and then.next_opens_at <= self.now)

    @property
    def hold_at(self) -> datetime | None:
        """Return from when on a plan under way begins no further step; None means never."""
        if self._stop_of_execution is not None:
            return self._stop_of_execution.created_at
        if not self.terms.pause_when_window_closes:
            return None
        return self._window.closes_at if self._window.open else self.now

    @property
    def hold_because(self) -> str:
        """Return why no further step begins, once that moment has come."""
        stop = self._stop_of_execution
        if stop is not None:
            return stop.text
        return HOLDS if self._window.open else self._window.text

    @property
    def approval_ends_at(self) -> datetime:
        """Return when an approval given now lapses."""
        return approval_expires_at(self.terms, self.now)


def rulings(plans: Sequence[Plan], now: datetime) -> dict[int, Ruling]:
    """Return the rulings by the plan's key; the number of queries does not depend on how many plans
    there are."""
    held = in_force({plan.system_id for plan in plans}) if plans else {}
    return {
        plan.pk: Ruling(
            plan=plan,
            terms=held[plan.system_id].terms,
            now=now,
            auto_approval_by=held[plan.system_id].auto_approval_by,
            stop=held[plan.system_id].stop,
        )
        for plan in plans
    }


def ruling_of(plan: Plan, now: datetime) -> Ruling:
    """Return what the policy says about this plan now."""
    return rulings([plan], now)[plan.pk]
