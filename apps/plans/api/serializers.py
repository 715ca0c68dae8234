"""What plans look like over REST."""

from typing import Any

from rest_framework import serializers

from apps.common.api.forms import Form
from apps.executions.api.serializers import EXECUTION_STATES, SettingMemberField
from apps.plans.models import Decision, Plan
from apps.systems.api.entities import Reference
from apps.systems.models import System
from weir.lifecycle.plans import PlanState

PLAN_STATES = [(state.value, state.value) for state in PlanState]
CHECK_STATES = [(state, state) for state in ("pass", "fail", "warn", "unknown")]
MAX_COMMENT = 2000


class BlastRadiusSerializer(serializers.Serializer[dict[str, Any]]):
    """How much of the system a plan touches."""

    brokers = serializers.IntegerField()
    brokers_total = serializers.IntegerField()
    topics = serializers.IntegerField()
    topics_total = serializers.IntegerField()
    links = serializers.IntegerField()
    actions = serializers.IntegerField()
    consumers_admitted = serializers.IntegerField()
    consumers_released = serializers.IntegerField()


class PlanSourceSerializer(serializers.Serializer[Plan]):
    """What proposed the plan."""

    kind = serializers.CharField(source="source_kind")
    id = serializers.UUIDField(source="source_id", allow_null=True)
    name = serializers.CharField(source="source_name")


class PlanExecutionSerializer(serializers.Serializer[Any]):
    """How far the execution of a plan is."""

    id = serializers.UUIDField()
    state = serializers.ChoiceField(choices=EXECUTION_STATES)
    actions_done = serializers.IntegerField()
    actions_total = serializers.IntegerField()


class PlanSerializer(serializers.Serializer[Any]):
    """A plan without its document: `apps.plans.selectors.readings.Reading`."""

    id = serializers.UUIDField(source="plan.public_id")
    number = serializers.IntegerField(source="plan.number")
    name = serializers.CharField(source="plan.__str__")
    title = serializers.CharField(source="plan.title")
    kind = serializers.CharField(source="plan.kind")
    system = serializers.UUIDField(source="plan.system.public_id")
    system_name = serializers.CharField(source="plan.system.name")
    state = serializers.ChoiceField(choices=PLAN_STATES)
    author = serializers.CharField(allow_null=True)
    answerable = serializers.CharField(
        allow_null=True, help_text="Who set up the schedule or trigger that made it."
    )
    created_at = serializers.DateTimeField(source="plan.created_at")
    submitted_at = serializers.DateTimeField(source="plan.submitted_at", allow_null=True)
    waiting_since = serializers.DateTimeField(source="plan.waiting_since", allow_null=True)
    model_version = serializers.IntegerField(source="plan.model_version")
    content_hash = serializers.CharField(source="plan.content_hash")
    run = serializers.UUIDField(allow_null=True)
    run_name = serializers.CharField(allow_null=True)
    source = PlanSourceSerializer(source="plan")  # type: ignore[assignment]
    blast_radius = BlastRadiusSerializer(source="plan.blast_radius")
    approvals_given = serializers.IntegerField()
    approvals_needed = serializers.IntegerField()
    expires_at = serializers.DateTimeField(source="plan.expires_at", allow_null=True)
    stale_because = serializers.CharField(help_text="Empty unless the plan is stale.")
    superseded_by = serializers.UUIDField(allow_null=True)
    execution = PlanExecutionSerializer(allow_null=True)
    allowed_commands = serializers.ListField(child=serializers.CharField())


class PlanActionSerializer(serializers.Serializer[dict[str, Any]]):
    """One action: what it changes, from what to what."""

    index = serializers.IntegerField()
    kind = serializers.CharField()
    title = serializers.CharField()
    undo_title = serializers.CharField()
    brokers = serializers.ListField(child=serializers.CharField())
    target = serializers.DictField(child=serializers.CharField())
    before = serializers.DictField(child=SettingMemberField(), allow_null=True)
    after = serializers.DictField(child=SettingMemberField(), allow_null=True)
    effect = serializers.CharField()


class PlanStepSerializer(serializers.Serializer[dict[str, Any]]):
    """Actions that may run together."""

    index = serializers.IntegerField()
    actions = PlanActionSerializer(many=True)


class PlanChangeSerializer(serializers.Serializer[Any]):
    """One number before and after; null: not enforced. A link counts 1 where it is, else 0.

    What is no number, such as the broker where a flow enters, stands in `was` and `becomes`.
    """

    kind = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    unit = serializers.CharField()
    before = serializers.FloatField(allow_null=True)
    after = serializers.FloatField(allow_null=True)
    step = serializers.IntegerField()
    reason = serializers.CharField()
    was = serializers.CharField(help_text="Text; empty where the change is a number.")
    becomes = serializers.CharField(help_text="Text; empty where the change is a number.")


class PlanLeftOutSerializer(serializers.Serializer[Any]):
    """One number that was proposed to change and does not, by the policy's judgement."""

    kind = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    unit = serializers.CharField()
    before = serializers.FloatField(allow_null=True)
    wanted = serializers.FloatField(allow_null=True)
    reason = serializers.CharField(help_text="band, reversal, dwell, charge, room or no_need.")
    because = serializers.CharField(help_text="The reason with its numbers.")


class PlanPromiseSerializer(serializers.Serializer[Any]):
    """A quantity before the plan and what it is expected to be after."""

    name = serializers.CharField()
    unit = serializers.CharField()
    before = serializers.FloatField(allow_null=True)
    after = serializers.FloatField(allow_null=True)


class PlanCheckSerializer(serializers.Serializer[Any]):
    """One thing that was looked at just now."""

    name = serializers.CharField()
    title = serializers.CharField()
    state = serializers.ChoiceField(choices=CHECK_STATES)
    detail = serializers.CharField()


class PlanChecksSerializer(serializers.Serializer[dict[str, Any]]):
    """The answer of a dry run; nothing was touched."""

    results = PlanCheckSerializer(many=True)


class PlanLevelSerializer(serializers.Serializer[Any]):
    """How full one broker is."""

    broker = serializers.CharField()
    share = serializers.FloatField(
        allow_null=True,
        help_text="Load over capacity of its fullest resource; null: it has no capacity.",
    )


class PlanLevelsSerializer(serializers.Serializer[Any]):
    """How full the brokers are at every stop of a plan."""

    stops = serializers.ListField(
        child=PlanLevelSerializer(many=True),
        help_text="Before the first step, then after each step; empty: not known.",
    )
    unknown_because = serializers.CharField(help_text="Empty where the levels are known.")


class PlanApprovalSerializer(serializers.Serializer[Any]):
    """One decision and whether it still holds."""

    person = serializers.CharField(help_text="Weir itself where a policy approved.")
    decision = serializers.ChoiceField(choices=Decision.choices)
    comment = serializers.CharField()
    at = serializers.DateTimeField()
    valid = serializers.BooleanField()
    invalid_because = serializers.CharField()


class PlanPolicySerializer(serializers.Serializer[Any]):
    """What the system's policy asks of this plan."""

    approvals_needed = serializers.IntegerField()
    reason = serializers.CharField()
    window_open = serializers.BooleanField()
    next_window_at = serializers.DateTimeField(allow_null=True)
    window_text = serializers.CharField()


class PlanBoundSerializer(serializers.Serializer[Any]):
    """A quantity that the plan assumes to lie between two bounds; `measured` is of now."""

    name = serializers.CharField()
    unit = serializers.CharField()
    low = serializers.FloatField()
    high = serializers.FloatField()
    measured = serializers.FloatField(allow_null=True)


class PlanEventSerializer(serializers.Serializer[Any]):
    """One line of a plan's history."""

    at = serializers.DateTimeField()
    actor = serializers.CharField(source="actor_name")
    command = serializers.CharField()
    title = serializers.CharField()
    note = serializers.CharField()


class PlanExecutionRowSerializer(serializers.Serializer[Any]):
    """An attempt to carry the plan out."""

    id = serializers.UUIDField(source="public_id")
    number = serializers.IntegerField()
    state = serializers.ChoiceField(choices=EXECUTION_STATES)
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)


class PlanDetailSerializer(PlanSerializer):
    """A plan as a reviewer reads it."""

    why = serializers.ListField(child=serializers.CharField(), source="plan.content.why")
    promise = PlanPromiseSerializer(many=True, source="plan.content.promise")
    steps = PlanStepSerializer(many=True)
    changes = PlanChangeSerializer(many=True)
    left_out = PlanLeftOutSerializer(many=True)
    checks = PlanCheckSerializer(many=True)
    approvals = PlanApprovalSerializer(many=True)
    policy = PlanPolicySerializer()
    envelope = PlanBoundSerializer(many=True)
    events = PlanEventSerializer(many=True)
    executions = PlanExecutionRowSerializer(many=True)


class ModelPlanSerializer(Form[dict[str, Any]]):
    """Of which system the model shall be brought into force."""

    system = Reference(System)
    title = serializers.CharField(required=False, default="", allow_blank=True, max_length=200)


class ApproveSerializer(Form[dict[str, Any]]):
    """Approve exactly what was read."""

    content_hash = serializers.RegexField(
        r"^[0-9a-f]{64}$", help_text="`content_hash` of the plan that you read."
    )
    comment = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=MAX_COMMENT
    )


class RejectSerializer(Form[dict[str, Any]]):
    """Say what is missing."""

    comment = serializers.CharField(max_length=MAX_COMMENT)


class DiscardSerializer(Form[dict[str, Any]]):
    """Drop a plan that nobody will carry out."""

    reason = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=MAX_COMMENT
    )


class OutcomeSerializer(serializers.Serializer[Any]):
    """A plan that was carried out: what it promised and what is measured now."""

    plan = serializers.UUIDField(source="plan.public_id")
    name = serializers.CharField(source="plan.__str__")
    title = serializers.CharField(source="plan.title")
    kind = serializers.CharField(source="plan.kind")
    system = serializers.UUIDField(source="plan.system.public_id")
    system_name = serializers.CharField(source="plan.system.name")
    executed_at = serializers.DateTimeField()
    promise = PlanPromiseSerializer(many=True, source="plan.content.promise")
    measured_utility = serializers.FloatField(
        allow_null=True,
        help_text="Only of a system's newest executed plan that promises utility; null: unknown.",
    )
