"""Store schedules, triggers, the record of every time one of them fired, and what was decided about
carrying its plan out without a person."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from apps.common.models import BaseModel
from apps.plans.models import Plan
from apps.recomputation.domain.timing import LEAST_EVERY_S, LONGEST_EVERY_S
from apps.runs.models import Run
from apps.runs.selectors import schedulable_choices
from apps.systems.models import System
from weir.lifecycle.firings import FIRINGS, FiringState

# Sorted, so that the constraints read the same in every process and need no new migration.
STATE_NAMES = sorted(state.value for state in FiringState)
ENDED_NAMES = sorted(state.value for state in FIRINGS.ended)
LONGEST_WAIT_S = 7 * 86_400


class Then(models.TextChoices):
    """Name what happens with the result."""

    NONE = "none", "Compute only"
    DRAFT = "draft", "Make a draft plan"
    SUBMIT = "submit", "Make a plan and submit it"
    EXECUTE = "execute", "Make a plan and carry it out, as far as the policy lets Weir"


class Kind(models.TextChoices):
    """Name what a trigger watches."""

    CAPACITY_CHANGE = "capacity_change", "Capacities in the model changed"
    POPULATION_CHANGE = "population_change", "Populations in the model changed"
    DEMAND_CHANGE = "demand_change", "Publishers or consumers want something else"
    SLO_BREACH = "slo_breach", "Service-level objectives are missed"
    BUDGET_BURN = "budget_burn", "An error budget burns"
    LOAD_DRIFT = "load_drift", "Measured load left the model's"
    BROKER_OVERLOAD = "broker_overload", "A broker is near or above its capacity"
    MACHINE_LOAD = "machine_load", "A broker's CPU or storage is near its limit"
    ROUTING_DRIFT = "routing_drift", "Routing costs moved since the last evaluation"
    FILTERING_DRIFT = "filtering_drift", "Filtering costs more than the last mapping came to"


class Outcome(models.TextChoices):
    """Name the outcome of a finished firing."""

    COMPUTED = "computed", "Computed"
    DRAFTED = "drafted", "Draft made"
    SUBMITTED = "submitted", "Submitted for review"
    APPROVED = "approved", "Approved by the policy"
    NOTHING = "nothing", "Nothing to change"
    KEPT = "kept", "Another plan stands"
    STALE = "stale", "The model moved meanwhile"


class Choice(models.TextChoices):
    """Name what was decided about a plan that Weir may carry out without a person."""

    EXECUTE = "execute", "Carry it out"
    WOULD_EXECUTE = "would_execute", "Would have carried it out"
    LEAVE = "leave", "Leave it to people"


class End(models.TextChoices):
    """Name what became of a plan that Weir was to carry out without a person."""

    WENT_WELL = "went_well", "It brought what it promised"
    UNKNOWN = "unknown", "It cannot be told what it brought"
    TAKEN_BACK = "taken_back", "Weir took it back"
    GIVEN_UP = "given_up", "Left to people"


def default_subject() -> str:
    """Return the first kind of computation that a schedule or trigger can ask for."""
    return schedulable_choices()[0][0]


def named(prefix: str) -> list[models.BaseConstraint]:
    """Return the constraints that schedules and triggers share."""
    return [
        models.UniqueConstraint(fields=["system", "name"], name=f"{prefix}_name_once_per_system"),
        models.CheckConstraint(condition=~Q(name=""), name=f"{prefix}_name_given"),
        models.CheckConstraint(condition=Q(then__in=Then.values), name=f"{prefix}_then_known"),
        models.CheckConstraint(
            condition=Q(least_benefit__gte=0, least_benefit__lt=float("inf")),
            name=f"{prefix}_least_benefit_sound",
        ),
        models.CheckConstraint(
            condition=Q(time_limit_s=None) | Q(time_limit_s__gte=0.1, time_limit_s__lte=86_400),
            name=f"{prefix}_time_limit_sound",
        ),
    ]


class Rule(BaseModel):
    """Store when to compute again, how, and what to do with the result."""

    system = models.ForeignKey(System, on_delete=models.CASCADE)
    name = models.CharField(max_length=100)
    enabled = models.BooleanField(default=True)
    subject = models.CharField(max_length=32, default=default_subject)  # a kind of computation
    method = models.CharField(max_length=64, blank=True, help_text="Empty: the installation's.")
    least_benefit = models.FloatField(
        default=0.0, help_text="Net benefit above which a result becomes a plan."
    )
    time_limit_s = models.FloatField(null=True, blank=True)
    then = models.CharField(max_length=8, choices=Then.choices, default=Then.DRAFT)
    # Who made it, or took it over since, answers for the plans that it makes.
    answerable = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    shaped_by: "ArrayField[list[int], list[int]]" = ArrayField(
        models.BigIntegerField(),
        default=list,
        help_text="Keys of the people who made or changed it.",
    )
    version = models.PositiveIntegerField(default=1, editable=False)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name


class Schedule(Rule):
    """Store a schedule, which computes again at an interval, or at the times of a cron
    expression."""

    every_s = models.PositiveIntegerField(null=True, blank=True)
    cron = models.CharField(max_length=100, blank=True)
    timezone = models.CharField(max_length=64, default="UTC")
    next_at = models.DateTimeField(null=True, help_text="Null while it is paused.")

    class Meta:
        ordering = ["system", "name"]
        indexes = [models.Index(fields=["next_at"], name="schedule_by_next_time")]
        constraints = [
            *named("schedule"),
            models.CheckConstraint(
                condition=Q(every_s=None) & ~Q(cron="")
                | Q(every_s__gte=LEAST_EVERY_S, every_s__lte=LONGEST_EVERY_S, cron=""),
                name="schedule_interval_or_cron",
            ),
            models.CheckConstraint(
                condition=Q(enabled=True) | Q(next_at=None), name="schedule_paused_is_never_due"
            ),
        ]


class Trigger(Rule):
    """Store a trigger, which computes again when a watched value stays above its threshold for long
    enough."""

    kind = models.CharField(max_length=24, choices=Kind.choices)
    threshold = models.FloatField(default=0.0)
    for_s = models.FloatField(default=10.0, help_text="How long the value must stay above.")
    cooldown_s = models.FloatField(default=300.0, help_text="Least time between two firings.")

    value = models.FloatField(null=True, help_text="Null: it cannot be said now.")
    detail = models.TextField(blank=True)
    basis = models.PositiveIntegerField(null=True, help_text="Model version that was looked at.")
    looked_at = models.DateTimeField(null=True)
    above_since = models.DateTimeField(null=True)
    fired_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["system", "name"]
        indexes = [models.Index(fields=["enabled", "looked_at"], name="trigger_by_look")]
        constraints = [
            *named("trigger"),
            models.CheckConstraint(condition=Q(kind__in=Kind.values), name="trigger_kind_known"),
            models.CheckConstraint(
                condition=Q(threshold__gte=0, threshold__lt=float("inf")),
                name="trigger_threshold_finite_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(for_s__gte=0, for_s__lte=LONGEST_WAIT_S)
                & Q(cooldown_s__gte=0, cooldown_s__lte=LONGEST_WAIT_S),
                name="trigger_times_at_most_a_week",
            ),
        ]


class Firing(BaseModel):
    """Store one time that a schedule came due, a trigger fired, or a person asked; never
    deleted."""

    system = models.ForeignKey(System, on_delete=models.CASCADE, related_name="firings")
    schedule = models.ForeignKey(
        Schedule, on_delete=models.SET_NULL, null=True, related_name="firings"
    )
    trigger = models.ForeignKey(
        Trigger, on_delete=models.SET_NULL, null=True, related_name="firings"
    )
    cause = models.CharField(max_length=100, help_text="The name it had then.")
    subject = models.CharField(max_length=32, default=default_subject)  # a kind of computation
    least_benefit = models.FloatField(default=0.0)
    why = models.TextField()
    value = models.FloatField(null=True)
    threshold = models.FloatField(null=True)
    method = models.CharField(max_length=64, blank=True)
    time_limit_s = models.FloatField(null=True)
    then = models.CharField(max_length=8, choices=Then.choices)
    account = models.CharField(max_length=16, help_text="In whose name: schedule or trigger.")
    answerable = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    shaped_by: "ArrayField[list[int], list[int]]" = ArrayField(
        models.BigIntegerField(), default=list, help_text="Keys of the people who had a hand in it."
    )
    state = models.CharField(max_length=16, default=FiringState.WAITING)
    outcome = models.CharField(max_length=16, blank=True)
    detail = models.TextField(blank=True)
    merged_into = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, related_name="+")
    run = models.ForeignKey(Run, on_delete=models.SET_NULL, null=True, related_name="+")
    plan = models.ForeignKey(Plan, on_delete=models.SET_NULL, null=True, related_name="+")
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["system", "-id"], name="firing_by_system")]
        constraints = [
            models.UniqueConstraint(
                fields=["system", "subject"],
                condition=Q(state=FiringState.WAITING.value),
                name="one_firing_waits_per_subject",
            ),
            models.UniqueConstraint(
                fields=["system", "subject"],
                condition=Q(state=FiringState.COMPUTING.value),
                name="one_firing_computes_per_subject",
            ),
            models.CheckConstraint(condition=Q(state__in=STATE_NAMES), name="firing_state_known"),
            models.CheckConstraint(
                condition=Q(state__in=ENDED_NAMES, ended_at__isnull=False)
                | Q(~Q(state__in=ENDED_NAMES), ended_at=None),
                name="firing_ended_has_a_time",
            ),
            models.CheckConstraint(
                condition=~Q(state=FiringState.DONE.value) | Q(outcome__in=Outcome.values),
                name="firing_done_has_an_outcome",
            ),
            models.CheckConstraint(
                condition=~Q(state=FiringState.FAILED.value) | ~Q(detail=""),
                name="firing_failed_has_a_reason",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.cause} at {self.created_at:%Y-%m-%d %H:%M:%S} UTC"


class AutomaticDecision(BaseModel):
    """Store what was decided about carrying a firing's plan out without a person, and what became
    of it; never deleted."""

    system = models.ForeignKey(System, on_delete=models.CASCADE, related_name="decisions")
    firing = models.OneToOneField(Firing, on_delete=models.CASCADE, related_name="decision")
    plan = models.ForeignKey(Plan, on_delete=models.CASCADE, related_name="decisions")
    choice = models.CharField(max_length=16, choices=Choice.choices)
    because = models.TextField()
    waits_because = models.TextField(
        blank=True, help_text="Why nothing goes on now; empty: it does."
    )
    began_at = models.DateTimeField(null=True, help_text="When its execution began.")
    burned_before: "ArrayField[list[str], list[str]]" = ArrayField(
        models.CharField(max_length=36),
        default=list,
        help_text="Ids of the objectives whose budgets burned at the rate of an alert then.",
    )
    roll_back = models.ForeignKey(Plan, on_delete=models.SET_NULL, null=True, related_name="+")
    roll_back_because = models.TextField(blank=True)
    end = models.CharField(max_length=16, choices=End.choices, blank=True)
    ended_at = models.DateTimeField(null=True)
    ended_because = models.TextField(blank=True)

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["system", "-id"], name="decision_by_system"),
            models.Index(fields=["updated_at"], name="decision_by_change"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["system"],
                condition=Q(choice=Choice.EXECUTE.value, ended_at=None),
                name="one_decision_under_way_per_system",
            ),
            models.CheckConstraint(
                condition=Q(choice__in=sorted(Choice.values)), name="decision_choice_known"
            ),
            models.CheckConstraint(
                condition=Q(ended_at=None, end="")
                | Q(ended_at__isnull=False, end__in=sorted(End.values), choice="execute"),
                name="decision_ended_somehow",
            ),
        ]

    def __str__(self) -> str:
        return f"decision about {self.plan}"
