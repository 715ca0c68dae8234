"""Describe schedules, triggers and firings over the REST API."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.accounts.api.permissions import granted
from apps.accounts.domain.roles import Permission
from apps.common.api.fields import Amount, choices, command_list
from apps.common.api.forms import Form
from apps.policies.domain.windows import cron_error, timezone_error
from apps.recomputation.domain.timing import LEAST_EVERY_S, LONGEST_EVERY_S, in_words
from apps.recomputation.models import LONGEST_WAIT_S, Firing, Kind, Outcome, Schedule, Then
from apps.runs.selectors import schedulable_choices
from apps.systems.api.entities import SystemReference
from weir.lifecycle.firings import FiringState

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
