"""Describe executions over the REST API."""

from functools import partial
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.accounts.api.permissions import granted
from apps.accounts.domain.roles import Permission
from apps.common.api.fields import command_list, instant
from apps.common.api.forms import Form
from apps.executions.models import Direction, Execution, ExecutionAction, ExecutionStep
from apps.executions.selectors import commands_given, following_of, value_shown, waiting_for
from apps.executions.selectors.flow_map import Following
from apps.executions.services.decide import Allowed, Outcome, decisions_allowed
from weir import actions as kinds
from weir.coordination.wire import ReportPhase
from weir.lifecycle.executions import (
    EXECUTIONS,
    PERSON_COMMANDS,
    ExecutionCommand,
    ExecutionState,
)
from weir.lifecycle.steps import ActionState, StepState

EXECUTION_STATES = [(state.value, state.value) for state in ExecutionState]
STEP_STATES = [(state.value, state.value) for state in StepState]
REPORT_PHASES = [(phase.value, phase.value) for phase in ReportPhase]
COMMANDS = [(command.value, command.value) for command in PERSON_COMMANDS]
ACTION_STATES = [(state.value, state.value) for state in ActionState]


class ActionAnswerSerializer(serializers.Serializer[Any]):
    """Describe what a broker has said of the running attempt, and when."""

    broker = serializers.CharField(read_only=True)
    phase = serializers.ChoiceField(choices=REPORT_PHASES, read_only=True)
    at = serializers.DateTimeField(read_only=True)
    by_hand = serializers.CharField(
        read_only=True, help_text="Why a person decided so at the broker's agent; empty: nobody."
    )


class ActionDecisionSerializer(serializers.Serializer[Any]):
    """Describe what the caller may decide for an action now, and the consequences."""

    outcome = serializers.ChoiceField(choices=Outcome.choices, read_only=True)
    risk = serializers.CharField(read_only=True)


class DecideSerializer(Form[Any]):
    """Read a person's decision about an action that waits."""

    outcome = serializers.ChoiceField(choices=Outcome.choices)
    reason = serializers.CharField(min_length=5, max_length=400, help_text="Why, for the audit.")
    confirmed = serializers.BooleanField(
        help_text="The risk that the action's `decisions` name for this outcome is known."
    )

    def validate_confirmed(self, value: bool) -> bool:
        """Require the confirmation, so that nobody decides by accident."""
        if not value:
            raise serializers.ValidationError(
                "Read the risk under `decisions` of the action and confirm it."
            )
        return value


@extend_schema_field({"oneOf": [{"type": "number"}, {"type": "string"}]})
class SettingMemberField(serializers.Field[Any, Any, Any, Any]):
    """Accept a member of a setting's value: a number such as a rate, or a name such as a broker's;
    of a list of names, how many it has."""

    def to_representation(self, value: Any) -> Any:
        return value


class ExecutionActionSerializer(serializers.ModelSerializer[ExecutionAction]):
    """Describe one action; `waiting_for` names the brokers whose answer it needs now."""

    # A page that watches a plan asks for all of its actions with every news of it, and there may be
    # thousands: they are written without a field object each. The fields are what the schema says.

    id = serializers.UUIDField(source="public_id", read_only=True)
    title = serializers.CharField(read_only=True)
    brokers = serializers.ListField(child=serializers.CharField(), read_only=True)
    target = serializers.DictField(child=serializers.CharField(), read_only=True)
    before = serializers.DictField(child=SettingMemberField(), read_only=True, allow_null=True)
    after = serializers.DictField(child=SettingMemberField(), read_only=True, allow_null=True)
    state = serializers.ChoiceField(choices=ACTION_STATES, read_only=True)
    waiting_for = serializers.ListField(child=serializers.CharField(), read_only=True)
    answers = ActionAnswerSerializer(many=True, read_only=True)
    decisions = ActionDecisionSerializer(many=True, read_only=True)

    class Meta:
        model = ExecutionAction
        fields = [
            "id",
            "index",
            "kind",
            "title",
            "brokers",
            "target",
            "before",
            "after",
            "effect",
            "state",
            "attempt",
            "detail",
            "deadline_at",
            "started_at",
            "ended_at",
            "pause_s",
            "waiting_for",
            "moved_at",
            "by_hand",
            "answers",
            "decisions",
        ]
        read_only_fields = fields

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._known: dict[int, Following] = {}

    def to_representation(self, instance: ExecutionAction) -> dict[str, Any]:
        action = instance.action
        waiting = waiting_for(instance, partial(self._following, instance))
        return {
            "id": str(instance.public_id),
            "index": instance.index,
            "kind": instance.kind,
            "title": kinds.title(action),
            "brokers": list(kinds.brokers(action)),
            "target": instance.target,
            "before": value_shown(instance.before),
            "after": value_shown(instance.after),
            "effect": instance.effect,
            "state": instance.state,
            "attempt": instance.attempt,
            "detail": instance.detail,
            "deadline_at": instant(instance.deadline_at),
            "started_at": instant(instance.started_at),
            "ended_at": instant(instance.ended_at),
            "pause_s": instance.pause_s,
            "waiting_for": waiting,
            "moved_at": instant(instance.moved_at),
            "by_hand": instance.by_hand,
            "answers": [
                {
                    "broker": report.broker,
                    "phase": report.phase,
                    "at": instant(report.at),
                    "by_hand": report.by_hand,
                }
                for report in instance.reports.all()
                if report.attempt == instance.attempt
            ],
            "decisions": [
                {"outcome": allowed.outcome.value, "risk": allowed.risk}
                for allowed in self._decisions(instance, waiting)
            ],
        }

    def _following(self, instance: ExecutionAction) -> Following:
        """Return what agents show of moves; read once for all actions of an execution."""
        execution = instance.step.execution
        if execution.system_id not in self._known:
            self._known[execution.system_id] = following_of(execution.system, timezone.now())
        return self._known[execution.system_id]

    def _decisions(self, instance: ExecutionAction, waiting: list[str]) -> list[Allowed]:
        request = self.context.get("request")
        if request is None or Permission.EXECUTE_PLAN not in granted(request):
            return []
        return decisions_allowed(instance, instance.reports.all(), waiting)


class ExecutionStepSerializer(serializers.ModelSerializer[ExecutionStep]):
    """Describe a step with its actions."""

    direction = serializers.ChoiceField(choices=Direction.choices, read_only=True)
    state = serializers.ChoiceField(choices=STEP_STATES, read_only=True)
    actions = ExecutionActionSerializer(many=True, read_only=True)

    class Meta:
        model = ExecutionStep
        fields = ["index", "direction", "state", "started_at", "ended_at", "actions"]
        read_only_fields = fields


class ExecutionSerializer(serializers.ModelSerializer[Execution]):
    """Describe one attempt at a plan."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    name = serializers.CharField(source="__str__", read_only=True)
    plan = serializers.UUIDField(source="subject_id", read_only=True)
    plan_name = serializers.CharField(source="subject_name", read_only=True)
    plan_title = serializers.CharField(source="subject_title", read_only=True)
    system = serializers.UUIDField(source="system.public_id", read_only=True)
    system_name = serializers.CharField(source="system.name", read_only=True)
    state = serializers.ChoiceField(choices=EXECUTION_STATES, read_only=True)
    started_by = serializers.CharField(source="started_by_name", read_only=True)
    started_by_id = serializers.UUIDField(
        source="started_by.public_id", read_only=True, allow_null=True, default=None
    )
    actions_done = serializers.IntegerField(
        read_only=True, help_text="Of the plan; also those that are taken back by now."
    )
    actions_total = serializers.IntegerField(read_only=True, help_text="Of the plan.")
    actions_to_undo = serializers.IntegerField(
        read_only=True, help_text="Of its rollback; 0 until it has one."
    )
    actions_undone = serializers.IntegerField(read_only=True, help_text="Of its rollback.")
    allowed_commands = serializers.SerializerMethodField()

    class Meta:
        model = Execution
        fields = [
            "id",
            "name",
            "number",
            "plan",
            "plan_name",
            "plan_title",
            "system",
            "system_name",
            "state",
            "started_by",
            "started_by_id",
            "created_at",
            "updated_at",
            "started_at",
            "ended_at",
            "failure",
            "hold_at",
            "hold_because",
            "held",
            "pace_s",
            "roll_back_pace_s",
            "max_parallel",
            "actions_done",
            "actions_total",
            "actions_to_undo",
            "actions_undone",
            "allowed_commands",
        ]
        read_only_fields = fields

    @extend_schema_field(command_list(COMMANDS))
    def get_allowed_commands(self, execution: Execution) -> list[str]:
        request = self.context.get("request")
        if request is None or Permission.EXECUTE_PLAN not in granted(request):
            return []
        return allowed_commands(execution)


class ExecutionCommandSerializer(serializers.Serializer[Any]):
    """Describe a command that somebody gave an execution: an entry of the audit."""

    at = serializers.DateTimeField(read_only=True)
    actor = serializers.CharField(source="actor_name", read_only=True)
    command = serializers.ChoiceField(choices=COMMANDS, source="action", read_only=True)
    reason = serializers.CharField(read_only=True)


class ExecutionDetailSerializer(ExecutionSerializer):
    """Describe an execution with its steps and actions."""

    commands = serializers.SerializerMethodField(
        help_text="What people, or Weir for a window, asked of it; oldest first."
    )
    steps = ExecutionStepSerializer(many=True, read_only=True)

    class Meta(ExecutionSerializer.Meta):
        fields = [*ExecutionSerializer.Meta.fields, "commands", "steps"]
        read_only_fields = fields

    @extend_schema_field(ExecutionCommandSerializer(many=True))
    def get_commands(self, execution: Execution) -> Any:
        return ExecutionCommandSerializer(commands_given(execution), many=True).data


class ExecutionReasonSerializer(Form[dict[str, Any]]):
    """Read the reason of a pause, stop or rollback, for the record."""

    reason = serializers.CharField(
        max_length=400, required=False, allow_blank=True, default="", help_text="For the record."
    )


class ResumeSerializer(ExecutionReasonSerializer):
    """Read whether it shall go on although a maintenance window forbids it."""

    override_window = serializers.BooleanField(
        required=False, default=False, help_text="Go on outside the window; needs a reason."
    )


def allowed_commands(execution: Execution) -> list[Any]:
    """Return what a person may ask of the execution in its present state."""
    state = ExecutionState(execution.state)
    # Annotated by `executions_counted`.
    overtaken = getattr(execution, "is_overtaken", False)
    return [
        command.value
        for command in PERSON_COMMANDS
        if (EXECUTIONS.allows(state, command) or _kept(execution, command))
        and not (overtaken and command == ExecutionCommand.ROLL_BACK)
    ]


def _kept(execution: Execution, command: ExecutionCommand) -> bool:
    # Paused by a window: somebody may want it to stay so.
    return execution.held and command == ExecutionCommand.PAUSE
