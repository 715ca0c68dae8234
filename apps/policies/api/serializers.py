"""Describe policies over the REST API."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.accounts.api.permissions import granted
from apps.accounts.domain.roles import Permission
from apps.common.api.fields import EDIT_ONLY, Amount, choices, command_list
from apps.common.api.forms import Form
from apps.policies.domain.terms import EVERY_KIND, Terms
from apps.policies.domain.windows import cron_error, timezone_error
from apps.policies.models import (
    LEAST_JUDGE_WINDOW_S,
    LEAST_SILENCE_S,
    LONGEST_DWELL_S,
    LONGEST_JUDGE_WINDOW_S,
    LONGEST_TTL_S,
    LONGEST_WINDOW_S,
    MOST_APPROVALS,
    MOST_PER_DAY,
    AutoExecution,
    AutomaticStop,
    Policy,
    WindowEffect,
)
from apps.policies.selectors import terms_of

STOP_COMMANDS = choices("resume")


class _Row(Form[Any]):
    """Read a row of a list. Lists are replaced as a whole, so a PATCH gives whole rows, too."""

    def to_internal_value(self, data: Any) -> Any:
        values = super().to_internal_value(data)
        missing = {
            name: [field.error_messages["required"]]
            for name, field in self.fields.items()
            if field.required and field.source not in values
        }
        if missing:
            raise serializers.ValidationError(missing)
        return values


class ApprovalRuleSerializer(_Row):
    """Describe how many approvals plans of a kind need from a blast radius on."""

    kind = serializers.CharField(
        max_length=32, required=False, default=EVERY_KIND, help_text="A kind of plan, or *."
    )
    min_brokers = serializers.IntegerField(
        min_value=0, max_value=2**31 - 1, required=False, default=0
    )
    min_share = Amount(
        max_value=1, required=False, default=0.0, help_text="Brokers touched over all, 0 to 1."
    )
    approvals = serializers.IntegerField(min_value=1, max_value=MOST_APPROVALS)


class WindowSerializer(_Row):
    """Describe a maintenance window; deny beats allow, and without allow windows all times are
    open."""

    effect = serializers.ChoiceField(choices=WindowEffect.choices)
    cron = serializers.CharField(
        max_length=100, help_text="When it begins: minute hour day-of-month month day-of-week."
    )
    duration_s = serializers.IntegerField(min_value=60, max_value=LONGEST_WINDOW_S)
    timezone = serializers.CharField(max_length=64, required=False, default="UTC")
    note = serializers.CharField(
        max_length=200, required=False, allow_blank=True, default="", help_text="A name for it."
    )

    def validate_cron(self, value: str) -> str:
        message = cron_error(value)
        if message:
            raise serializers.ValidationError(message)
        return value

    def validate_timezone(self, value: str) -> str:
        message = timezone_error(value)
        if message:
            raise serializers.ValidationError(message)
        return value


class PolicySerializer(Form[Policy]):
    """Describe what plans of a system need; values are those in force, inherited ones too."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    system = serializers.UUIDField(
        source="system.public_id",
        read_only=True,
        allow_null=True,
        default=None,
        help_text="null: the default of this installation.",
    )
    system_name = serializers.CharField(
        source="system.name", read_only=True, allow_null=True, default=None
    )
    inherits = serializers.BooleanField(
        required=False, help_text="The installation's default holds; any change ends this."
    )
    approval_rules = ApprovalRuleSerializer(many=True, required=False, allow_empty=False)
    auto_approve_max_share = Amount(
        max_value=1, required=False, help_text="Share of the brokers; 0: a person must approve."
    )
    auto_approve_max_change = Amount(
        max_value=1, required=False, help_text="Largest relative change of a value."
    )
    auto_execute = serializers.ChoiceField(
        choices=AutoExecution.choices,
        required=False,
        help_text="What becomes of plans of schedules and triggers whose `then` is `execute`.",
    )
    auto_execute_max_share = Amount(
        max_value=1,
        required=False,
        help_text="Share of the brokers that a plan touches at most, which Weir carries out "
        "without a person.",
    )
    auto_execute_max_rate_change = Amount(
        max_value=1,
        required=False,
        help_text="The same for the largest change of a rate or bucket, as a share of the larger "
        "of what it was and will be.",
    )
    auto_execute_max_consumers_change = Amount(
        max_value=1,
        required=False,
        help_text="The same for the largest change of a limit of consumers, as such a share.",
    )
    auto_execute_per_day = serializers.IntegerField(
        min_value=0,
        max_value=MOST_PER_DAY,
        required=False,
        help_text="Plans that Weir begins without a person within 24 hours at most.",
    )
    auto_execute_after = serializers.IntegerField(
        min_value=0,
        max_value=MOST_PER_DAY,
        required=False,
        help_text="How many plans of its kind that people approved have to have brought what they "
        "promised before, since one that Weir began last went wrong.",
    )
    windows = WindowSerializer(many=True, required=False)
    pause_when_window_closes = serializers.BooleanField(
        required=False,
        help_text="A plan under way pauses after its running step when changes are no longer "
        "allowed, and goes on when they are; false: it is carried out to its end.",
    )
    max_parallel_actions = serializers.IntegerField(min_value=1, max_value=1000, required=False)
    pace_s = Amount(max_value=86_400, required=False, help_text="Pause between two steps.")
    roll_back_pace_s = Amount(
        max_value=86_400,
        required=False,
        help_text="The same while something is rolled back, by its execution or by a plan.",
    )
    enactment_threshold = Amount(
        max_value=1,
        required=False,
        help_text="Least relative gain of utility worth enacting; 0: any change is.",
    )
    enactment_band = Amount(
        max_value=1,
        required=False,
        help_text="Share by which a rate or limit must move to be changed; 0: any move. "
        "A value that turns around must move by more than the band twice over.",
    )
    enactment_dwell_s = Amount(
        max_value=LONGEST_DWELL_S,
        required=False,
        help_text="How long a rate or limit stays after it changed, unless a capacity would break.",
    )
    churn_per_consumer = Amount(
        required=False, help_text="Utility that admitting or releasing one consumer costs."
    )
    churn_per_rate_change = Amount(
        required=False,
        help_text="Utility that changing a rate by all of the larger value costs; "
        "in proportion for smaller changes.",
    )
    approval_ttl_s = serializers.IntegerField(min_value=60, max_value=LONGEST_TTL_S, required=False)
    remove_after_s = serializers.IntegerField(
        min_value=LEAST_SILENCE_S,
        max_value=LONGEST_TTL_S,
        required=False,
        help_text="How long a broker must have been silent before a plan may remove it as gone.",
    )
    demand_band = Amount(
        max_value=1,
        required=False,
        help_text="Share of the demand that may have moved since a plan was made, where measured "
        "demand is used; more makes the plan stale, and 1 never does.",
    )
    judge_window_s = serializers.IntegerField(
        min_value=LEAST_JUDGE_WINDOW_S,
        max_value=LONGEST_JUDGE_WINDOW_S,
        required=False,
        help_text="How long is measured before and after a plan, to judge whether it did what it "
        "promised, seconds; of plans that begin from now on.",
    )
    rate_control = serializers.BooleanField(required=False)
    rate_control_band = Amount(
        min_value=0.001,
        max_value=1,
        required=False,
        help_text="How far controlled rates may leave the approved ones, as a share.",
    )
    version = serializers.IntegerField(read_only=True)
    updated_at = serializers.DateTimeField(read_only=True)
    allowed_commands = serializers.SerializerMethodField()
    reason = serializers.CharField(
        write_only=True, required=False, allow_blank=True, max_length=500
    )

    @extend_schema_field(command_list(EDIT_ONLY))
    def get_allowed_commands(self, policy: Policy) -> list[str]:
        request = self.context.get("request")
        may = request is not None and Permission.ADMINISTER in granted(request)
        return ["edit"] if may else []

    def to_representation(self, instance: Policy) -> dict[str, Any]:
        terms: Terms = self.context.get("terms", {}).get(instance.pk) or terms_of(instance)
        shown = _InForce(instance, terms)
        return super().to_representation(shown)  # type: ignore[arg-type]


class _InForce:
    """Present a row as it is shown: its own columns, and the terms that hold."""

    def __init__(self, policy: Policy, terms: Terms) -> None:
        self._policy, self._terms = policy, terms

    def __getattr__(self, name: str) -> Any:
        if name in Terms.__dataclass_fields__:
            return getattr(self._terms, name)
        return getattr(self._policy, name)


class AutomaticStopSerializer(serializers.ModelSerializer[AutomaticStop]):
    """Describe a time during which Weir did nothing by itself."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    stopped_by = serializers.UUIDField(source="stopped_by.public_id", read_only=True)
    stopped_by_name = serializers.CharField(source="stopped_by.display_name", read_only=True)
    reason = serializers.CharField(max_length=500, help_text="Why, for those who find it stopped.")
    stopped_at = serializers.DateTimeField(source="created_at", read_only=True)
    ended_by = serializers.UUIDField(
        source="ended_by.public_id", read_only=True, allow_null=True, default=None
    )
    ended_by_name = serializers.CharField(
        source="ended_by.display_name", read_only=True, allow_null=True, default=None
    )
    allowed_commands = serializers.SerializerMethodField()

    class Meta:
        model = AutomaticStop
        fields = [
            *("id", "stopped_by", "stopped_by_name", "reason", "stopped_at"),
            *("ended_by", "ended_by_name", "ended_at", "end_reason", "allowed_commands"),
        ]
        read_only_fields = [name for name in fields if name != "reason"]

    @extend_schema_field(command_list(STOP_COMMANDS))
    def get_allowed_commands(self, stop: AutomaticStop) -> list[str]:
        request = self.context.get("request")
        may = request is not None and Permission.EXECUTE_PLAN in granted(request)
        return ["resume"] if may and stop.ended_at is None else []


class AutomaticResumeSerializer(Form[Any]):
    """Read why Weir may do again by itself what policies, schedules and triggers say."""

    reason = serializers.CharField(
        required=False, allow_blank=True, default="", max_length=500, help_text="Kept beside it."
    )
