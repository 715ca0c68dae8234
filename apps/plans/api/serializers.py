"""Describe plans over the REST API."""

from typing import Any

from rest_framework import serializers

from apps.common.api.fields import choices, command_list
from apps.common.api.forms import Form
from apps.executions.api.serializers import EXECUTION_STATES, SettingMemberField
from apps.plans.domain.parts import Kept, Quantity
from apps.plans.domain.verdicts import Judged
from apps.plans.models import Decision, Plan
from apps.plans.selectors.approvals import ACCEPT_OVERLOAD, DRY_RUN, EDIT, NEEDS, ROLL_BACK
from apps.plans.selectors.outcomes import OBJECTIVE, Outcome
from apps.systems.api.entities import Reference, SystemReference
from apps.systems.domain.labels import is_one_line
from apps.systems.models import CONTROL_CHARACTER, System
from weir.enactment.terms import Reason
from weir.lifecycle.plans import PlanState

PLAN_STATES = [(state.value, state.value) for state in PlanState]
PLAN_COMMANDS = choices(*NEEDS, DRY_RUN, ACCEPT_OVERLOAD, ROLL_BACK, EDIT)
LEFT_OUT_REASONS = choices(*Reason)
CHECK_STATES = [(state, state) for state in ("pass", "fail", "warn", "unknown")]
MAX_COMMENT = 2000
LONGEST_TICKET = Plan._meta.get_field("change_ticket").max_length


class BlastRadiusSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe how much of the system a plan touches."""

    brokers = serializers.IntegerField()
    brokers_total = serializers.IntegerField()
    topics = serializers.IntegerField()
    topics_total = serializers.IntegerField()
    links = serializers.IntegerField()
    actions = serializers.IntegerField()
    consumers_admitted = serializers.IntegerField()
    consumers_released = serializers.IntegerField()


class PlanSourceSerializer(serializers.Serializer[Plan]):
    """Describe what proposed the plan."""

    kind = serializers.CharField(source="source_kind")
    id = serializers.UUIDField(source="source_id", allow_null=True)
    name = serializers.CharField(source="source_name")


class PlanExecutionSerializer(serializers.Serializer[Any]):
    """Describe the progress of a plan's execution."""

    id = serializers.UUIDField()
    state = serializers.ChoiceField(choices=EXECUTION_STATES)
    actions_done = serializers.IntegerField()
    actions_total = serializers.IntegerField()
    actions_to_undo = serializers.IntegerField(help_text="Of its rollback; 0 until it has one.")
    actions_undone = serializers.IntegerField()


class PlanSerializer(serializers.Serializer[Any]):
    """Describe a plan without its steps."""

    id = serializers.UUIDField(source="plan.public_id")
    number = serializers.IntegerField(source="plan.number")
    name = serializers.CharField(source="plan.__str__")
    title = serializers.CharField(source="plan.title")
    kind = serializers.CharField(source="plan.kind")
    system = serializers.UUIDField(source="plan.system.public_id")
    system_name = serializers.CharField(source="plan.system.name")
    version = serializers.IntegerField(
        help_text="Grows with all that is done to the plan and all that is decided about it; "
        "commands name it as If-Match."
    )
    state = serializers.ChoiceField(choices=PLAN_STATES)
    author = serializers.CharField(allow_null=True)
    author_id = serializers.UUIDField(allow_null=True)
    answerable = serializers.CharField(
        allow_null=True, help_text="Who set up the schedule or trigger that made it."
    )
    answerable_id = serializers.UUIDField(allow_null=True)
    created_at = serializers.DateTimeField(source="plan.created_at")
    updated_at = serializers.DateTimeField(
        help_text="When the plan or its execution was changed, or the model that made it stale."
    )
    submitted_at = serializers.DateTimeField(source="plan.submitted_at", allow_null=True)
    waiting_since = serializers.DateTimeField(source="plan.waiting_since", allow_null=True)
    change_ticket = serializers.CharField(
        source="plan.change_ticket",
        help_text="The change record elsewhere, or its address; empty: none was named.",
    )
    model_version = serializers.IntegerField(source="plan.model_version")
    content_hash = serializers.CharField(source="plan.content_hash")
    run = serializers.UUIDField(allow_null=True)
    run_name = serializers.CharField(allow_null=True)
    source = PlanSourceSerializer(source="plan")  # type: ignore[assignment]
    blast_radius = BlastRadiusSerializer(source="plan.blast_radius")
    approvals_given = serializers.IntegerField(
        help_text="That count now; of an executed plan, those that it was executed on."
    )
    approvals_needed = serializers.IntegerField()
    expires_at = serializers.DateTimeField(source="plan.expires_at", allow_null=True)
    stale_because = serializers.CharField(help_text="Empty unless the plan is stale.")
    superseded_by = serializers.UUIDField(allow_null=True)
    superseded_by_name = serializers.CharField(allow_null=True)
    execution = PlanExecutionSerializer(allow_null=True)
    allowed_commands = command_list(PLAN_COMMANDS)


class PublishersChangedSerializer(serializers.Serializer[dict[str, Any]]):
    """Say how many publishers a broker releases and lets in, and name the first of them."""

    released = serializers.IntegerField()
    released_names = serializers.ListField(child=serializers.CharField())
    let_in = serializers.IntegerField()
    let_in_names = serializers.ListField(child=serializers.CharField())
    is_first = serializers.BooleanField(
        help_text="The broker has had no list: until now it let every publisher in."
    )


class PlanActionSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe one action: what it changes, from what to what."""

    index = serializers.IntegerField()
    kind = serializers.CharField()
    title = serializers.CharField()
    undo_title = serializers.CharField()
    brokers = serializers.ListField(child=serializers.CharField())
    target = serializers.DictField(child=serializers.CharField())
    before = serializers.DictField(child=SettingMemberField(), allow_null=True)
    after = serializers.DictField(child=SettingMemberField(), allow_null=True)
    effect = serializers.CharField()
    publishers = PublishersChangedSerializer(
        allow_null=True, help_text="Of lists of publishers; the exported plan has all names."
    )


class PlanStepSerializer(serializers.Serializer[dict[str, Any]]):
    """List actions that may run together."""

    index = serializers.IntegerField()
    actions = PlanActionSerializer(many=True)


class PlanChangeSerializer(serializers.Serializer[Any]):
    """Describe one number before and after; null: not enforced. A link counts 1 where it is, else
    0.

    What is no number, such as the broker where a flow enters, stands in `was` and `becomes`; so
    does `not served` in the place of a limit where there is nothing to limit.
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
    measured = serializers.FloatField(
        allow_null=True,
        help_text="Of a rate what passes now, of a limit who is connected now; null: not measured, "
        "or the plan has begun.",
    )


class PlanLeftOutSerializer(serializers.Serializer[Any]):
    """Describe one number that was proposed to change and does not, by the policy's judgement."""

    kind = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    unit = serializers.CharField()
    before = serializers.FloatField(allow_null=True)
    wanted = serializers.FloatField(allow_null=True)
    reason = serializers.ChoiceField(choices=LEFT_OUT_REASONS)
    because = serializers.CharField(help_text="The reason with its numbers.")


class PlanPromiseSerializer(serializers.Serializer[Any]):
    """Describe a quantity before the plan and its expected value after."""

    name = serializers.CharField()
    unit = serializers.CharField()
    before = serializers.FloatField(allow_null=True)
    after = serializers.FloatField(allow_null=True)


class PlanCheckSerializer(serializers.Serializer[Any]):
    """Describe one check of the live state."""

    name = serializers.CharField()
    title = serializers.CharField()
    state = serializers.ChoiceField(choices=CHECK_STATES)
    detail = serializers.CharField()


class PlanClassHurtSerializer(serializers.Serializer[Any]):
    """Describe one class that a plan touches: who is connected now, and who may be afterwards."""

    name = serializers.CharField()
    broker = serializers.CharField()
    connected = serializers.IntegerField(
        allow_null=True, help_text="Consumers that are connected now; null: nobody measures."
    )
    waiting = serializers.IntegerField(
        allow_null=True, help_text="Consumers that wait for a place; null: nobody measures."
    )
    served_before = serializers.BooleanField()
    limit_before = serializers.IntegerField(
        allow_null=True, help_text="null: where the class is served, nothing limits it."
    )
    served_after = serializers.BooleanField()
    limit_after = serializers.IntegerField(
        allow_null=True, help_text="null: where the class is served, nothing limits it."
    )
    disconnected = serializers.IntegerField(
        allow_null=True, help_text="How many have to leave; null: it cannot be told."
    )
    let_in = serializers.IntegerField(
        allow_null=True,
        help_text="How many of those that wait find a place; null: it cannot be told.",
    )


class PlanHurtSerializer(serializers.Serializer[Any]):
    """Describe whom a plan disconnects, from what is measured now."""

    sentence = serializers.CharField(help_text="How many of how many lose their connection.")
    connected = serializers.IntegerField(
        allow_null=True, help_text="Of all classes of the system; null: nobody measures."
    )
    disconnected = serializers.IntegerField(
        help_text="How many have to leave, of the classes where that can be told."
    )
    classes = PlanClassHurtSerializer(
        many=True, help_text="Those that the plan touches; the one that loses most first."
    )
    unmeasured = serializers.ListField(
        child=serializers.CharField(), help_text="Classes of which it cannot be told."
    )


class PlanWaitSerializer(serializers.Serializer[Any]):
    """Describe one topic that gets more messages than its gate lets pass after the plan."""

    topic = serializers.CharField()
    topic_id = serializers.UUIDField()
    broker = serializers.CharField(help_text="Where its gate is.")
    reliable = serializers.BooleanField(
        help_text="Its messages wait; those of a best-effort topic are discarded."
    )
    offered_per_s = serializers.FloatField(help_text="Mean of the last half minute.")
    gate_per_s = serializers.FloatField(help_text="What the plan lets pass.")
    excess_per_s = serializers.FloatField(help_text="How many more arrive than leave.")
    waiting = serializers.IntegerField(help_text="Messages that wait already.")
    full_in_s = serializers.FloatField(
        allow_null=True,
        help_text="Seconds after the plan until the first known limit is reached; null: see why.",
    )
    why = serializers.CharField(help_text="Why no time can be told; empty where one is.")
    alarm = serializers.BooleanField(help_text="It is full within an hour.")
    sentence = serializers.CharField(help_text="All of it in words.")


class PlanWaitsSerializer(serializers.Serializer[Any]):
    """Describe what a plan's gates do to what publishers send now."""

    topics = PlanWaitSerializer(many=True, help_text="The one that is full first, first.")
    unmeasured = serializers.ListField(
        child=serializers.CharField(),
        help_text="Topics whose gate the plan sets and whose messages nobody measures now.",
    )


class PlanChecksSerializer(serializers.Serializer[dict[str, Any]]):
    """List the checks of a dry run; nothing was touched."""

    results = PlanCheckSerializer(many=True)


class PlanLevelSerializer(serializers.Serializer[Any]):
    """Describe how full one broker is."""

    broker = serializers.CharField()
    share = serializers.FloatField(
        allow_null=True,
        help_text="Load over capacity of its fullest resource; null: it has no capacity.",
    )


class PlanLevelsSerializer(serializers.Serializer[Any]):
    """Describe how full the brokers are at every stop of a plan."""

    stops = serializers.ListField(
        child=PlanLevelSerializer(many=True),
        help_text="Before the first step, then after each step; empty: not known.",
    )
    unknown_because = serializers.CharField(help_text="Empty where the levels are known.")


class PlanApprovalSerializer(serializers.Serializer[Any]):
    """Describe one decision and whether it still holds."""

    person = serializers.CharField(help_text="Weir itself where a policy approved.")
    decision = serializers.ChoiceField(choices=Decision.choices)
    comment = serializers.CharField()
    at = serializers.DateTimeField()
    valid = serializers.BooleanField()
    invalid_because = serializers.CharField()


class PlanAcceptanceSerializer(serializers.Serializer[Any]):
    """Describe who accepts that the plan loads more than a capacity, and why."""

    person = serializers.CharField()
    at = serializers.DateTimeField()
    reason = serializers.CharField()


class PlanPolicySerializer(serializers.Serializer[Any]):
    """Describe what the system's policy asks of this plan."""

    approvals_needed = serializers.IntegerField()
    reason = serializers.CharField()
    window_open = serializers.BooleanField()
    next_window_at = serializers.DateTimeField(allow_null=True)
    window_text = serializers.CharField()


class PlanBoundSerializer(serializers.Serializer[Any]):
    """Describe a quantity that the plan assumes to lie between two bounds; `measured` is its
    present value."""

    name = serializers.CharField()
    unit = serializers.CharField()
    low = serializers.FloatField()
    high = serializers.FloatField()
    measured = serializers.FloatField(allow_null=True)


class PlanEventSerializer(serializers.Serializer[Any]):
    """Describe one line of a plan's history: what happened to it, and what was asked of its
    execution."""

    at = serializers.DateTimeField()
    actor = serializers.CharField(source="actor_name")
    command = serializers.CharField()
    title = serializers.CharField()
    note = serializers.CharField()


class PlanExecutionRowSerializer(serializers.Serializer[Any]):
    """Describe an attempt to carry the plan out."""

    id = serializers.UUIDField(source="public_id")
    number = serializers.IntegerField()
    state = serializers.ChoiceField(choices=EXECUTION_STATES)
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)


class PlanDetailSerializer(PlanSerializer):
    """Describe a plan as a reviewer reads it."""

    why = serializers.ListField(child=serializers.CharField(), source="plan.content.why")
    promise = PlanPromiseSerializer(many=True, source="plan.content.promise")
    steps = PlanStepSerializer(many=True)
    changes = PlanChangeSerializer(many=True)
    left_out = PlanLeftOutSerializer(many=True)
    checks = PlanCheckSerializer(many=True)
    hurt = PlanHurtSerializer(
        allow_null=True,
        help_text="Who loses a connection; null: it has begun, or is settled.",
    )
    waits = PlanWaitsSerializer(
        allow_null=True,
        help_text="Who sends more than the plan lets pass; null: it has begun, or is settled.",
    )
    approvals = PlanApprovalSerializer(many=True)
    would_overload = serializers.CharField(
        help_text="Where it would load more than a capacity; empty: nowhere, or it has begun."
    )
    accepted_overload = PlanAcceptanceSerializer(
        allow_null=True, help_text="null: nobody has accepted an overload."
    )
    roll_back_overload = serializers.CharField(
        help_text="Of an executed plan: where rolling it back would load more than a capacity."
    )
    policy = PlanPolicySerializer()
    envelope = PlanBoundSerializer(many=True)
    events = PlanEventSerializer(many=True)
    executions = PlanExecutionRowSerializer(many=True)


class TicketField(serializers.CharField):
    """Accept the name or the address of a change record: one line of text."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("max_length", LONGEST_TICKET)
        kwargs.setdefault("allow_blank", True)
        kwargs.setdefault("help_text", "The change record elsewhere, or its address; empty: none.")
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> str:
        text: str = super().to_internal_value(data)
        if not is_one_line(text):
            raise serializers.ValidationError(CONTROL_CHARACTER)
        return text


class PlanEditSerializer(Form[dict[str, Any]]):
    """Read what may be changed of a plan."""

    change_ticket = TicketField()


class ModelPlanSerializer(Form[dict[str, Any]]):
    """Read of which system to bring the model into force."""

    system = Reference(System)
    title = serializers.CharField(required=False, default="", allow_blank=True, max_length=200)
    change_ticket = TicketField(required=False)


class ApproveSerializer(Form[dict[str, Any]]):
    """Read the hash of the content to approve."""

    content_hash = serializers.RegexField(
        r"^[0-9a-f]{64}$", help_text="`content_hash` of the plan that you read."
    )
    comment = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=MAX_COMMENT
    )


class RejectSerializer(Form[dict[str, Any]]):
    """Read the reason of a rejection."""

    comment = serializers.CharField(max_length=MAX_COMMENT)


class PlanReasonSerializer(Form[dict[str, Any]]):
    """Read why somebody commands a plan, such as the number of a ticket."""

    reason = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=MAX_COMMENT,
        help_text="For the plan's history.",
    )


class DiscardSerializer(Form[dict[str, Any]]):
    """Read why to drop a plan that nobody will carry out."""

    reason = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=MAX_COMMENT
    )


class RollBackSerializer(Form[dict[str, Any]]):
    """Read why an executed plan is rolled back."""

    reason = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=MAX_COMMENT,
        help_text="For those who approve it.",
    )
    accept_overload = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Accept what going back would overload; needs a reason, and the permission to "
        "approve plans.",
    )


class AcceptOverloadSerializer(Form[dict[str, Any]]):
    """Read why a plan may load more than a capacity."""

    reason = serializers.CharField(allow_blank=True, max_length=MAX_COMMENT)


class PromisePartSerializer(serializers.Serializer[Any]):
    """Describe a part of a plan's promise, and what was measured of it, in its unit."""

    quantity = serializers.ChoiceField(choices=choices(*Quantity))
    name = serializers.CharField(
        help_text="Of the topic, class, broker or link; `links` or `receivers`: of all together."
    )
    where = serializers.CharField(
        help_text="The broker of the gate or class; of a delay which, and by which objective; "
        "of a wait which; empty: of a load, of links and receivers."
    )
    unit = serializers.CharField()
    promised = serializers.FloatField(
        allow_null=True,
        help_text="The limit, the load or the target; null: nothing limits it.",
    )
    before = serializers.FloatField(
        allow_null=True, help_text="Mean of the window before; null: not measured."
    )
    after = serializers.FloatField(
        allow_null=True, help_text="Mean of the window after; null: not measured."
    )
    noise = serializers.FloatField(
        allow_null=True, help_text="By how much it varied by itself; null: not measured."
    )
    kept = serializers.ChoiceField(choices=choices(*Kept))
    because = serializers.CharField(help_text="By how much and likely why, or why it is unknown.")


class OutcomeSerializer(serializers.Serializer[Any]):
    """Describe a plan that was carried out: what it promised, what was measured, and the
    verdict."""

    plan = serializers.UUIDField(source="plan.public_id")
    name = serializers.CharField(source="plan.__str__")
    title = serializers.CharField(source="plan.title")
    kind = serializers.CharField(source="plan.kind")
    system = serializers.UUIDField(source="plan.system.public_id")
    system_name = serializers.CharField(source="plan.system.name")
    executed_at = serializers.DateTimeField()
    promise = PlanPromiseSerializer(many=True, source="plan.content.promise")
    judged = serializers.ChoiceField(choices=choices(*Judged))
    because = serializers.CharField(help_text="The verdict's evidence, or why there is none.")
    known_at = serializers.DateTimeField(
        allow_null=True, help_text="When it can be told, where it is too early."
    )
    measured_before = serializers.FloatField(
        allow_null=True,
        help_text="Mean utility of the window before, at the weights the plan was made with.",
    )
    measured_after = serializers.FloatField(
        allow_null=True, help_text="The same after it ended; null: not measured (yet)."
    )
    noise = serializers.FloatField(
        allow_null=True, help_text="By how much the utility varied by itself before."
    )
    parts_kept = serializers.SerializerMethodField()
    parts_missed = serializers.SerializerMethodField()
    parts_unknown = serializers.SerializerMethodField()

    def get_parts_kept(self, outcome: Outcome) -> int:
        """Return how many parts of the promise were kept."""
        return outcome.count(Kept.KEPT)

    def get_parts_missed(self, outcome: Outcome) -> int:
        """Return how many parts of the promise were missed."""
        return outcome.count(Kept.MISSED)

    def get_parts_unknown(self, outcome: Outcome) -> int:
        """Return of how many parts of the promise nothing can be told."""
        return outcome.count(Kept.UNKNOWN)


class OutcomeDetailSerializer(OutcomeSerializer):
    """Describe a plan that was carried out, with every part of its promise."""

    parts = PromisePartSerializer(many=True, help_text="Empty until it is judged.")


class PromiseRecordSerializer(serializers.Serializer[Any]):
    """Describe how often plans brought what they promised: a service level of Weir itself."""

    since = serializers.DateTimeField()
    executed = serializers.IntegerField(help_text="Plans that were carried out since then.")
    decided = serializers.IntegerField(help_text="Of how many of them something can be told.")
    kept = serializers.IntegerField(help_text="How many of those brought what they promised.")
    share = serializers.FloatField(
        allow_null=True, help_text="Kept of decided; null: of no plan anything can be told."
    )
    objective = serializers.FloatField(
        default=OBJECTIVE, read_only=True, help_text="The share that shall be kept."
    )
    is_met = serializers.BooleanField(
        allow_null=True, help_text="Whether it is; null: of no plan anything can be told."
    )


class OutcomesSerializer(serializers.Serializer[Any]):
    """Describe plans executed lately, and the record of their system, or of all."""

    record = PromiseRecordSerializer()
    results = OutcomeSerializer(many=True)


class OutcomeQuery(Form[dict[str, Any]]):
    """Ask for plans executed lately: newest first, 50 at most."""

    days = serializers.IntegerField(min_value=1, max_value=366, default=7, help_text="1 to 366.")
    system = SystemReference(required=False, help_text="Only of this system.")
    judged = serializers.MultipleChoiceField(
        choices=choices(*Judged), required=False, help_text="Only with these verdicts."
    )
