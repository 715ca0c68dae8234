"""Describe schedules, triggers, firings and what Weir carries out by itself over the REST API."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.accounts.api.permissions import granted
from apps.accounts.domain.roles import Permission
from apps.common.api.fields import Amount, choices, command_list
from apps.common.api.forms import Form
from apps.policies.domain.windows import cron_error, timezone_error
from apps.policies.models import AutoExecution
from apps.recomputation.domain.timing import LEAST_EVERY_S, LONGEST_EVERY_S, in_words
from apps.recomputation.models import (
    LONGEST_WAIT_S,
    AutomaticDecision,
    Choice,
    End,
    Firing,
    Kind,
    Outcome,
    Schedule,
    Then,
)
from apps.recomputation.selectors.automatic import promised_gain
from apps.runs.selectors import schedulable_choices
from apps.systems.api.entities import SystemReference
from weir.lifecycle.firings import FiringState
from weir.lifecycle.plans import PlanState

SUBJECTS = schedulable_choices()
"""The kinds of computation that can be computed again."""

RULE_COMMANDS = choices("edit", "delete", "run")
FIRING_STATES = [(state.value, state.value) for state in FiringState]


class FiringSerializer(serializers.ModelSerializer[Firing]):
    """Describe one time that a schedule came due, a trigger fired or a person asked."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    system = serializers.UUIDField(source="system.public_id", read_only=True)
    schedule = serializers.UUIDField(
        source="schedule.public_id", read_only=True, allow_null=True, default=None
    )
    trigger = serializers.UUIDField(
        source="trigger.public_id", read_only=True, allow_null=True, default=None
    )
    system_name = serializers.CharField(source="system.name", read_only=True)
    schedule_name = serializers.CharField(
        source="schedule.name", read_only=True, allow_null=True, default=None
    )
    trigger_name = serializers.CharField(
        source="trigger.name", read_only=True, allow_null=True, default=None
    )
    answerable_id = serializers.UUIDField(
        source="answerable.public_id", read_only=True, allow_null=True, default=None
    )
    subject = serializers.ChoiceField(choices=SUBJECTS, read_only=True)
    state = serializers.ChoiceField(choices=FIRING_STATES, read_only=True)
    outcome = serializers.ChoiceField(
        choices=Outcome.choices,
        allow_blank=True,
        read_only=True,
        help_text="Empty before it is done.",
    )
    answerable = serializers.CharField(
        source="answerable.display_name", read_only=True, allow_null=True, default=None
    )
    merged_into = serializers.UUIDField(
        source="merged_into.public_id", read_only=True, allow_null=True, default=None
    )
    run = serializers.UUIDField(
        source="run.public_id", read_only=True, allow_null=True, default=None
    )
    run_name = serializers.CharField(source="run", read_only=True, allow_null=True, default=None)
    plan = serializers.UUIDField(
        source="plan.public_id", read_only=True, allow_null=True, default=None
    )
    plan_name = serializers.CharField(source="plan", read_only=True, allow_null=True, default=None)
    fired_at = serializers.DateTimeField(source="created_at", read_only=True)

    class Meta:
        model = Firing
        fields = [
            *("id", "system", "system_name", "schedule", "schedule_name", "trigger"),
            *("trigger_name", "cause", "subject", "why", "value", "threshold", "answerable_id"),
            *("then", "state", "outcome", "detail", "answerable", "merged_into"),
            *("run", "run_name", "plan", "plan_name", "fired_at", "ended_at"),
        ]
        read_only_fields = fields


class RuleSerializer(Form[Any]):
    """Describe what schedules and triggers have in common."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    system = SystemReference()
    name = serializers.CharField(max_length=100)
    enabled = serializers.BooleanField(required=False, help_text="false: paused.")
    subject = serializers.ChoiceField(
        choices=SUBJECTS, required=False, help_text="What is computed again."
    )
    method = serializers.CharField(
        max_length=64,
        required=False,
        allow_blank=True,
        help_text="One of the `methods` of its subject in /computations; empty: the "
        "installation's.",
    )
    least_benefit = Amount(
        required=False,
        help_text="Where its subject `weighs_benefit`: net benefit, in messages over one link, "
        "above which the result becomes a plan.",
    )
    time_limit_s = Amount(required=False, allow_null=True, min_value=0.1, max_value=86_400)
    then = serializers.ChoiceField(
        choices=Then.choices,
        required=False,
        help_text="Only `none` where its subject is not `plannable` in /computations.",
    )
    system_name = serializers.CharField(source="system.name", read_only=True)
    answerable_id = serializers.UUIDField(
        source="answerable.public_id", read_only=True, allow_null=True, default=None
    )
    answerable = serializers.CharField(
        source="answerable.display_name",
        read_only=True,
        allow_null=True,
        default=None,
        help_text="Who made it or took it over. Nobody who made or changed it decides about its "
        "plans.",
    )
    take_over = serializers.BooleanField(
        write_only=True,
        required=False,
        help_text="Take responsibility for its plans from now on; without it the responsible "
        "person stays the same.",
    )
    last_firing = serializers.SerializerMethodField()
    version = serializers.IntegerField(read_only=True)
    created_at = serializers.DateTimeField(read_only=True)
    updated_at = serializers.DateTimeField(read_only=True)
    allowed_commands = serializers.SerializerMethodField()
    reason = serializers.CharField(
        write_only=True, required=False, allow_blank=True, max_length=500
    )
    commands: tuple[str, ...] = ("edit", "delete")

    def get_fields(self) -> Any:
        fields = super().get_fields()
        if self.instance is not None:
            # The system of a rule never changes.
            fields["system"].read_only = True
        return fields

    @extend_schema_field(FiringSerializer(allow_null=True))
    def get_last_firing(self, rule: Any) -> Any:
        key = getattr(rule, "last_firing_pk", None)
        firing = self.context.get("firings", {}).get(key)
        return FiringSerializer(firing).data if firing else None

    @extend_schema_field(command_list(RULE_COMMANDS))
    def get_allowed_commands(self, rule: Any) -> list[str]:
        request = self.context.get("request")
        may = request is not None and Permission.PROPOSE_PLAN in granted(request)
        return list(self.commands) if may else []


class ScheduleSerializer(RuleSerializer):
    """Describe a schedule, which computes again at an interval, or at the times of a cron
    expression."""

    every_s = serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=LEAST_EVERY_S,
        max_value=LONGEST_EVERY_S,
        help_text="Either this or `cron`.",
    )
    cron = serializers.CharField(
        max_length=100,
        required=False,
        allow_blank=True,
        help_text="minute hour day-of-month month day-of-week.",
    )
    timezone = serializers.CharField(max_length=64, required=False)
    next_at = serializers.DateTimeField(read_only=True, allow_null=True)
    text = serializers.SerializerMethodField(help_text="The times of the schedule, in plain words.")
    commands = ("edit", "delete", "run")

    def get_text(self, schedule: Schedule) -> str:
        return in_words(every_s=schedule.every_s, cron=schedule.cron, timezone=schedule.timezone)

    def validate_cron(self, value: str) -> str:
        message = cron_error(value) if value else None
        if message:
            raise serializers.ValidationError(message)
        return value

    def validate_timezone(self, value: str) -> str:
        message = timezone_error(value)
        if message:
            raise serializers.ValidationError(message)
        return value


class TriggerSerializer(RuleSerializer):
    """Describe a trigger, which computes again when a watched value stays above its threshold for
    long enough."""

    kind = serializers.ChoiceField(choices=Kind.choices)
    threshold = Amount(
        required=False,
        help_text="Fires above it. A share for changes, drift and loads, a number of missed "
        "objectives.",
    )
    for_s = Amount(
        max_value=LONGEST_WAIT_S,
        required=False,
        help_text="How long the value must stay above; an edit of the model starts the wait again.",
    )
    cooldown_s = Amount(
        max_value=LONGEST_WAIT_S, required=False, help_text="Least time between two firings."
    )
    value = serializers.FloatField(
        read_only=True, allow_null=True, help_text="The value now; null where it is not known."
    )
    detail = serializers.CharField(read_only=True)
    looked_at = serializers.DateTimeField(read_only=True, allow_null=True)
    above_since = serializers.DateTimeField(read_only=True, allow_null=True)
    fired_at = serializers.DateTimeField(read_only=True, allow_null=True)


class SchedulePreviewSerializer(serializers.Serializer[Any]):
    """Describe a schedule in plain words and its next times, UTC."""

    text = serializers.CharField()
    next = serializers.ListField(child=serializers.DateTimeField())


class SchedulePreviewQuery(Form[Any]):
    """Read a schedule that is not saved yet."""

    every_s = serializers.IntegerField(
        required=False, allow_null=True, default=None, max_value=LONGEST_EVERY_S
    )
    cron = serializers.CharField(required=False, allow_blank=True, default="", max_length=100)
    timezone = serializers.CharField(required=False, default="UTC", max_length=64)


class AutomaticDecisionSerializer(serializers.ModelSerializer[AutomaticDecision]):
    """Describe what was decided about carrying a plan out without a person, and what became of
    it."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    system = serializers.UUIDField(source="system.public_id", read_only=True)
    system_name = serializers.CharField(source="system.name", read_only=True)
    firing = serializers.UUIDField(source="firing.public_id", read_only=True)
    firing_name = serializers.CharField(source="firing.cause", read_only=True)
    plan = serializers.UUIDField(source="plan.public_id", read_only=True)
    plan_name = serializers.CharField(source="plan", read_only=True)
    plan_title = serializers.CharField(source="plan.title", read_only=True)
    plan_state = serializers.ChoiceField(
        source="plan.state", choices=[(state.value, state.value) for state in PlanState]
    )
    choice = serializers.ChoiceField(choices=Choice.choices, read_only=True)
    because = serializers.CharField(read_only=True, help_text="Why, as sentences.")
    gain = serializers.SerializerMethodField(
        help_text="Gain of utility that the plan promises, as a share of what it was; null: it "
        "promises none."
    )
    waits_because = serializers.CharField(
        read_only=True, help_text="Why nothing goes on now; empty: nothing waits."
    )
    began_at = serializers.DateTimeField(
        read_only=True, allow_null=True, help_text="When Weir began it; null: it has not."
    )
    roll_back = serializers.UUIDField(
        source="roll_back.public_id",
        read_only=True,
        allow_null=True,
        default=None,
        help_text="The plan by which Weir takes it back.",
    )
    roll_back_name = serializers.CharField(
        source="roll_back", read_only=True, allow_null=True, default=None
    )
    roll_back_because = serializers.CharField(
        read_only=True, help_text="Why it is taken back; empty: it is not."
    )
    end = serializers.ChoiceField(
        choices=End.choices,
        allow_blank=True,
        read_only=True,
        help_text="Empty: it is not over, or was never to be carried out.",
    )
    decided_at = serializers.DateTimeField(source="created_at", read_only=True)

    class Meta:
        model = AutomaticDecision
        fields = [
            *("id", "system", "system_name", "firing", "firing_name", "plan", "plan_name"),
            *("plan_title", "plan_state", "choice", "because", "gain", "waits_because"),
            *("began_at", "roll_back", "roll_back_name", "roll_back_because", "end"),
            *("ended_at", "ended_because", "decided_at"),
        ]
        read_only_fields = fields

    def get_gain(self, row: AutomaticDecision) -> float | None:
        return promised_gain(row.plan)


class AutomationQuery(Form[dict[str, Any]]):
    """Read of which system it is shown how far Weir may act by itself."""

    system = SystemReference()


class AutomationSerializer(serializers.Serializer[Any]):
    """Describe how far Weir may act by itself in a system, and what came of it in 30 days."""

    system = serializers.UUIDField(source="system.public_id")
    system_name = serializers.CharField(source="system.name")
    auto_execute = serializers.ChoiceField(
        source="terms.auto_execute", choices=AutoExecution.choices
    )
    stop = serializers.UUIDField(
        source="stop.public_id",
        default=None,
        read_only=True,
        allow_null=True,
        help_text="What keeps Weir from doing anything by itself; null: nothing does.",
    )
    stop_text = serializers.CharField(
        source="stop.text", default="", read_only=True, help_text="Who stopped it and why."
    )
    went_well = serializers.IntegerField(
        source="trust.went_well",
        help_text="Plans that people approved and that brought what they promised, of the kind "
        "decided about last, since one that Weir began last went wrong.",
    )
    needed = serializers.IntegerField(
        source="trust.needed", help_text="How many of these the policy asks for."
    )
    trust_text = serializers.CharField(source="trust.text", help_text="Both, as a sentence.")
    begun_lately = serializers.IntegerField(
        help_text="Plans that Weir has begun by itself within the last 24 hours."
    )
    per_day = serializers.IntegerField(
        source="terms.auto_execute_per_day", help_text="How many of these the policy allows."
    )
    since = serializers.DateTimeField(help_text="When what follows begins.")
    would_execute = serializers.IntegerField(
        source="dry_run.plans", help_text="Plans that Weir would have carried out."
    )
    would_last_s = serializers.FloatField(
        source="dry_run.seconds",
        help_text="For how long one of them would have been in force and was not, s.",
    )
    would_gain = serializers.FloatField(
        source="dry_run.gain",
        allow_null=True,
        help_text="Mean gain of utility over that time, as they promised, as a share of what it "
        "was; null: none was promised.",
    )
    under_way = serializers.SerializerMethodField(help_text="Plans it carries out or measures.")
    brought = serializers.SerializerMethodField(help_text="Those that brought what they promised.")
    taken_back = serializers.SerializerMethodField(help_text="Those that Weir took back.")
    unknown = serializers.SerializerMethodField(
        help_text="Those of which it cannot be told what they brought."
    )
    given_up = serializers.SerializerMethodField(
        help_text="Those that Weir was to carry out and left to people."
    )
    left = serializers.IntegerField(help_text="Plans that it left to people.")

    def get_under_way(self, row: Any) -> int:
        return int(row.ends.get("", 0))

    def get_brought(self, row: Any) -> int:
        return int(row.ends.get(End.WENT_WELL, 0))

    def get_taken_back(self, row: Any) -> int:
        return int(row.ends.get(End.TAKEN_BACK, 0))

    def get_unknown(self, row: Any) -> int:
        return int(row.ends.get(End.UNKNOWN, 0))

    def get_given_up(self, row: Any) -> int:
        return int(row.ends.get(End.GIVEN_UP, 0))
