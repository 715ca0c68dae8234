"""Store policies as rows: one per system, and one without a system, the installation's default;
and when people stopped everything that Weir does by itself.

The tables are named as when they were a part of the app `plans` (docs/adr/0038).
"""

from django.conf import settings
from django.db import models
from django.db.models import Q

from apps.common.models import BaseModel
from apps.policies.domain.terms import (
    DEFAULT_TERMS,
    EVERY_KIND,
    ApprovalRule,
    AutoExecute,
    Effect,
    Terms,
    Window,
)
from apps.systems.models import System

LONGEST_WINDOW_S = 31 * 86_400
LONGEST_TTL_S = 366 * 86_400
LONGEST_DWELL_S = 7 * 86_400
MOST_APPROVALS = 9
MOST_PER_DAY = 1000
LEAST_SILENCE_S = 30
LEAST_JUDGE_WINDOW_S, LONGEST_JUDGE_WINDOW_S = 60, 900
"""Ten blocks of a minute hold six samples each; longer windows would outlast the samples."""


class WindowEffect(models.TextChoices):
    """Name what a window does while it lasts."""

    ALLOW = "allow", "Allow"
    DENY = "deny", "Deny"


class AutoExecution(models.TextChoices):
    """Name what becomes of plans that Weir may carry out without a person."""

    OFF = AutoExecute.OFF.value, "Off"
    DRY = AutoExecute.DRY.value, "Dry run"
    ON = AutoExecute.ON.value, "On"


class Policy(BaseModel):
    """Store what plans of a system need. While `inherits`, the default's terms hold instead."""

    system = models.OneToOneField(
        System, on_delete=models.CASCADE, null=True, blank=True, related_name="policy"
    )
    inherits = models.BooleanField(
        default=False, help_text="The installation's default holds; the first change ends this."
    )
    auto_approve_max_share = models.FloatField(default=DEFAULT_TERMS.auto_approve_max_share)
    auto_approve_max_change = models.FloatField(default=DEFAULT_TERMS.auto_approve_max_change)
    auto_execute = models.CharField(
        max_length=3,
        choices=AutoExecution.choices,
        default=DEFAULT_TERMS.auto_execute,
        db_default=DEFAULT_TERMS.auto_execute.value,
    )
    auto_execute_max_share = models.FloatField(
        default=DEFAULT_TERMS.auto_execute_max_share,
        db_default=DEFAULT_TERMS.auto_execute_max_share,
    )
    auto_execute_max_rate_change = models.FloatField(
        default=DEFAULT_TERMS.auto_execute_max_rate_change,
        db_default=DEFAULT_TERMS.auto_execute_max_rate_change,
    )
    auto_execute_max_consumers_change = models.FloatField(
        default=DEFAULT_TERMS.auto_execute_max_consumers_change,
        db_default=DEFAULT_TERMS.auto_execute_max_consumers_change,
    )
    auto_execute_per_day = models.PositiveIntegerField(
        default=DEFAULT_TERMS.auto_execute_per_day,
        db_default=DEFAULT_TERMS.auto_execute_per_day,
    )
    auto_execute_after = models.PositiveIntegerField(
        default=DEFAULT_TERMS.auto_execute_after, db_default=DEFAULT_TERMS.auto_execute_after
    )
    pause_when_window_closes = models.BooleanField(default=DEFAULT_TERMS.pause_when_window_closes)
    max_parallel_actions = models.PositiveIntegerField(default=DEFAULT_TERMS.max_parallel_actions)
    pace_s = models.FloatField(default=DEFAULT_TERMS.pace_s)
    roll_back_pace_s = models.FloatField(default=DEFAULT_TERMS.roll_back_pace_s)
    enactment_threshold = models.FloatField(default=DEFAULT_TERMS.enactment_threshold)
    enactment_band = models.FloatField(default=DEFAULT_TERMS.enactment_band)
    enactment_dwell_s = models.FloatField(default=DEFAULT_TERMS.enactment_dwell_s)
    churn_per_consumer = models.FloatField(default=DEFAULT_TERMS.churn_per_consumer)
    churn_per_rate_change = models.FloatField(default=DEFAULT_TERMS.churn_per_rate_change)
    approval_ttl_s = models.PositiveIntegerField(default=DEFAULT_TERMS.approval_ttl_s)
    remove_after_s = models.PositiveIntegerField(default=DEFAULT_TERMS.remove_after_s)
    demand_band = models.FloatField(
        default=DEFAULT_TERMS.demand_band, db_default=DEFAULT_TERMS.demand_band
    )
    judge_window_s = models.PositiveIntegerField(
        default=DEFAULT_TERMS.judge_window_s, db_default=DEFAULT_TERMS.judge_window_s
    )
    rate_control = models.BooleanField(default=DEFAULT_TERMS.rate_control)
    rate_control_band = models.FloatField(default=DEFAULT_TERMS.rate_control_band)
    auto_approval_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        editable=False,
        related_name="+",
        help_text="Who decided last what is approved without a person.",
    )
    version = models.PositiveIntegerField(default=1, editable=False)

    class Meta:
        db_table = "plans_policy"
        verbose_name_plural = "policies"
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["system"], nulls_distinct=False, name="one_policy_per_system"
            ),
            models.CheckConstraint(
                condition=Q(inherits=False) | Q(system__isnull=False),
                name="default_policy_inherits_from_nobody",
            ),
            models.CheckConstraint(
                condition=Q(auto_approve_max_share__gte=0, auto_approve_max_share__lte=1),
                name="policy_auto_approve_share_between_0_and_1",
            ),
            models.CheckConstraint(
                condition=Q(auto_approve_max_change__gte=0, auto_approve_max_change__lte=1),
                name="policy_auto_approve_change_between_0_and_1",
            ),
            models.CheckConstraint(
                condition=Q(auto_execute__in=sorted(AutoExecution.values)),
                name="policy_auto_execute_known",
            ),
            models.CheckConstraint(
                condition=Q(auto_execute_max_share__gte=0, auto_execute_max_share__lte=1)
                & Q(auto_execute_max_rate_change__gte=0, auto_execute_max_rate_change__lte=1)
                & Q(
                    auto_execute_max_consumers_change__gte=0,
                    auto_execute_max_consumers_change__lte=1,
                ),
                name="policy_auto_execute_bounds_between_0_and_1",
            ),
            models.CheckConstraint(
                condition=Q(
                    auto_execute_per_day__lte=MOST_PER_DAY, auto_execute_after__lte=MOST_PER_DAY
                ),
                name="policy_auto_execute_counts_at_most_1000",
            ),
            models.CheckConstraint(
                condition=Q(max_parallel_actions__gte=1, max_parallel_actions__lte=1000),
                name="policy_parallel_actions_between_1_and_1000",
            ),
            models.CheckConstraint(
                condition=Q(pace_s__gte=0, pace_s__lte=86_400), name="policy_pace_at_most_a_day"
            ),
            models.CheckConstraint(
                condition=Q(roll_back_pace_s__gte=0, roll_back_pace_s__lte=86_400),
                name="policy_roll_back_pace_at_most_a_day",
            ),
            models.CheckConstraint(
                condition=Q(enactment_threshold__gte=0, enactment_threshold__lte=1),
                name="policy_threshold_between_0_and_1",
            ),
            models.CheckConstraint(
                condition=Q(enactment_band__gte=0, enactment_band__lte=1),
                name="policy_band_between_0_and_1",
            ),
            models.CheckConstraint(
                condition=Q(enactment_dwell_s__gte=0, enactment_dwell_s__lte=LONGEST_DWELL_S),
                name="policy_dwell_at_most_a_week",
            ),
            models.CheckConstraint(
                condition=Q(churn_per_consumer__gte=0, churn_per_consumer__lt=float("inf"))
                & Q(churn_per_rate_change__gte=0, churn_per_rate_change__lt=float("inf")),
                name="policy_churn_finite_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(approval_ttl_s__gte=60, approval_ttl_s__lte=LONGEST_TTL_S),
                name="policy_approval_ttl_between_a_minute_and_a_year",
            ),
            models.CheckConstraint(
                condition=Q(remove_after_s__gte=LEAST_SILENCE_S, remove_after_s__lte=LONGEST_TTL_S),
                name="policy_remove_after_between_30_s_and_a_year",
            ),
            models.CheckConstraint(
                condition=Q(demand_band__gte=0, demand_band__lte=1),
                name="policy_demand_band_between_0_and_1",
            ),
            models.CheckConstraint(
                condition=Q(
                    judge_window_s__gte=LEAST_JUDGE_WINDOW_S,
                    judge_window_s__lte=LONGEST_JUDGE_WINDOW_S,
                ),
                name="policy_judge_window_between_1_and_15_minutes",
            ),
            models.CheckConstraint(
                condition=Q(rate_control_band__gt=0, rate_control_band__lte=1),
                name="policy_rate_control_band_above_0_at_most_1",
            ),
        ]

    def __str__(self) -> str:
        return f"policy of {self.system}" if self.system else "policy of this installation"

    @property
    def own_terms(self) -> Terms:
        """Return what the row itself says, whether or not it inherits. Prefetch rules and
        windows."""
        return Terms(
            approval_rules=tuple(
                ApprovalRule(
                    kind=row.kind,
                    min_brokers=row.min_brokers,
                    min_share=row.min_share,
                    approvals=row.approvals,
                )
                for row in self.rules.all()
            ),
            windows=tuple(
                Window(
                    effect=Effect(row.effect),
                    cron=row.cron,
                    duration_s=row.duration_s,
                    timezone=row.timezone,
                    note=row.note,
                )
                for row in self.maintenance_windows.all()
            ),
            auto_approve_max_share=self.auto_approve_max_share,
            auto_approve_max_change=self.auto_approve_max_change,
            auto_execute=AutoExecute(self.auto_execute),
            auto_execute_max_share=self.auto_execute_max_share,
            auto_execute_max_rate_change=self.auto_execute_max_rate_change,
            auto_execute_max_consumers_change=self.auto_execute_max_consumers_change,
            auto_execute_per_day=self.auto_execute_per_day,
            auto_execute_after=self.auto_execute_after,
            pause_when_window_closes=self.pause_when_window_closes,
            max_parallel_actions=self.max_parallel_actions,
            pace_s=self.pace_s,
            roll_back_pace_s=self.roll_back_pace_s,
            enactment_threshold=self.enactment_threshold,
            enactment_band=self.enactment_band,
            enactment_dwell_s=self.enactment_dwell_s,
            churn_per_consumer=self.churn_per_consumer,
            churn_per_rate_change=self.churn_per_rate_change,
            approval_ttl_s=self.approval_ttl_s,
            remove_after_s=self.remove_after_s,
            demand_band=self.demand_band,
            judge_window_s=self.judge_window_s,
            rate_control=self.rate_control,
            rate_control_band=self.rate_control_band,
        )


class PolicyRule(models.Model):
    """Store how many approvals plans of a kind need from a blast radius on."""

    policy = models.ForeignKey(Policy, on_delete=models.CASCADE, related_name="rules")
    position = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=32, default=EVERY_KIND)
    min_brokers = models.PositiveIntegerField(default=0)
    min_share = models.FloatField(default=0.0)
    approvals = models.PositiveSmallIntegerField(default=1)

    class Meta:
        db_table = "plans_policyrule"
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["policy", "position"], name="policy_rule_place_once"),
            models.CheckConstraint(condition=~Q(kind=""), name="policy_rule_kind_given"),
            models.CheckConstraint(
                condition=Q(min_share__gte=0, min_share__lte=1),
                name="policy_rule_share_between_0_and_1",
            ),
            models.CheckConstraint(
                condition=Q(approvals__gte=1, approvals__lte=MOST_APPROVALS),
                name="policy_rule_asks_for_1_to_9_approvals",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.approvals}"


class PolicyWindow(models.Model):
    """Store when plans may, or may not, begin to be carried out."""

    policy = models.ForeignKey(Policy, on_delete=models.CASCADE, related_name="maintenance_windows")
    position = models.PositiveSmallIntegerField()
    effect = models.CharField(max_length=8, choices=WindowEffect.choices)
    cron = models.CharField(max_length=100)
    duration_s = models.PositiveIntegerField()
    timezone = models.CharField(max_length=64, default="UTC")
    note = models.CharField(max_length=200, blank=True)

    class Meta:
        db_table = "plans_policywindow"
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["policy", "position"], name="policy_window_place_once"),
            models.CheckConstraint(
                condition=Q(effect__in=WindowEffect.values), name="policy_window_effect_known"
            ),
            models.CheckConstraint(
                condition=Q(duration_s__gte=60, duration_s__lte=LONGEST_WINDOW_S),
                name="policy_window_lasts_a_minute_to_31_days",
            ),
            models.CheckConstraint(condition=~Q(cron=""), name="policy_window_cron_given"),
        ]

    def __str__(self) -> str:
        return f"{self.effect} {self.cron} for {self.duration_s} s"


class AutomaticStop(BaseModel):
    """Store a time during which Weir did nothing by itself: who stopped it, and who let it go on.

    While one has no end, no schedule or trigger fires, no plan is approved or begun without a
    person, rates and parts stay as they are, and executions that Weir began wait after their step.
    """

    stopped_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+"
    )
    reason = models.CharField(max_length=500)
    ended_at = models.DateTimeField(null=True)
    ended_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )
    end_reason = models.CharField(max_length=500, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["ended_at"],
                condition=Q(ended_at=None),
                nulls_distinct=False,
                name="one_automatic_stop_at_a_time",
            ),
            models.CheckConstraint(condition=~Q(reason=""), name="automatic_stop_has_a_reason"),
            models.CheckConstraint(
                condition=Q(ended_at=None, ended_by=None)
                | Q(ended_at__isnull=False, ended_by__isnull=False),
                name="automatic_stop_was_ended_by_somebody",
            ),
        ]

    def __str__(self) -> str:
        return f"stop of {self.created_at:%Y-%m-%d %H:%M:%S} UTC"

    @property
    def text(self) -> str:
        """Return who stopped it and why, as a sentence."""
        who = self.stopped_by.display_name
        return f"{who} stopped everything that Weir does by itself: {self.reason.rstrip('.')}."
