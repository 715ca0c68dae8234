"""Define what a policy says, as plain values: the rules use these and no database."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

EVERY_KIND = "*"


class Effect(StrEnum):
    """Name what a maintenance window does while it lasts."""

    ALLOW = "allow"
    DENY = "deny"


class AutoExecute(StrEnum):
    """Name what becomes of plans that Weir may carry out without a person."""

    OFF = "off"
    """People decide about every plan."""
    DRY = "dry"
    """People decide; what Weir would have carried out is recorded."""
    ON = "on"
    """Weir approves and carries out what is within the bounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRule:
    """Ask for approvals of plans of a kind that touch at least this share of the system."""

    kind: str = EVERY_KIND
    """A kind of plan, or `*`."""
    min_brokers: int = 0
    min_share: float = 0.0
    """Brokers touched over all brokers, 0 to 1."""
    approvals: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Describe a recurring time: it begins whenever `cron` fires in its time zone."""

    effect: Effect
    cron: str
    duration_s: int
    timezone: str = "UTC"
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Hold everything a policy says; the defaults are those of a fresh installation."""

    approval_rules: tuple[ApprovalRule, ...] = (ApprovalRule(),)
    auto_approve_max_share: float = 0.0
    """Plans that touch at most this share of the brokers may go without a person; 0: never."""
    auto_approve_max_change: float = 0.1
    """... if no value changes by more than this, relative to what it was."""
    auto_execute: AutoExecute = AutoExecute.OFF
    auto_execute_max_share: float = 0.5
    """Plans that touch at most this share of the brokers may be carried out without a person."""
    auto_execute_max_rate_change: float = 0.2
    """... if no rate or bucket changes by more than this share of the larger, old or new,"""
    auto_execute_max_consumers_change: float = 0.2
    """... and no limit of consumers by more than this,"""
    auto_execute_per_day: int = 4
    """... and no more than so many have begun within 24 hours,"""
    auto_execute_after: int = 5
    """... after so many plans that people approved did what they promised."""
    windows: tuple[Window, ...] = ()
    pause_when_window_closes: bool = True
    """A plan under way pauses after its running step when changes are no longer allowed."""
    max_parallel_actions: int = 20
    pace_s: float = 0.0
    """Pause between two steps."""
    roll_back_pace_s: float = 0.0
    """The same while something is rolled back; an emergency does not wait."""
    enactment_threshold: float = 0.01
    """Relative gain of utility below which a new allocation is not worth enacting."""
    enactment_band: float = 0.0
    """Share by which a rate or limit must move to be changed; turning around takes it twice."""
    enactment_dwell_s: float = 0.0
    """How long a rate or limit stays after it changed."""
    churn_per_consumer: float = 0.0
    """Utility that admitting or releasing one consumer costs."""
    churn_per_rate_change: float = 0.0
    """Utility that changing a rate by all of the larger value costs, in proportion below."""
    approval_ttl_s: int = 24 * 3600
    remove_after_s: int = 300
    """How long a broker must have been silent before a plan may remove it as gone for good."""
    demand_band: float = 0.25
    """Share of the demand that may have moved since a plan was made; more makes it stale."""
    judge_window_s: int = 300
    """How long is measured before and after a plan, to judge whether it did what it promised."""
    rate_control: bool = False
    rate_control_band: float = 0.2
    """How far controlled rates may leave the approved ones, as a share of these."""


DEFAULT_TERMS = Terms()
