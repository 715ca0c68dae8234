"""Describe agents and measurements over the REST API."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.accounts.api.permissions import granted
from apps.accounts.domain.roles import Permission
from apps.common.api.fields import choices, command_list, instant
from apps.common.api.forms import Form
from apps.systems.api.entities import SystemReference
from apps.systems.models import Product
from apps.telemetry.domain.addresses import LONGEST, address_fault
from apps.telemetry.domain.backlog import Backlog, Growth, Limit
from apps.telemetry.models import AGENT_STATES, Agent, Loss, Sample
from apps.telemetry.services.losses import REASONS
from apps.topology.models import Broker

AGENT_COMMANDS = choices("enrol", "edit", "revoke")


class GateSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe a token bucket: at most burst + rate x t messages pass in any t seconds."""

    rate_per_s = serializers.FloatField()
    burst = serializers.FloatField()


class BucketSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe a broker's part of the token bucket of a topic that enters at several brokers."""

    rate_per_s = serializers.FloatField(help_text="0: nothing of the topic enters there.")
    size = serializers.FloatField(help_text="Tokens that the part holds.")
    count_only = serializers.BooleanField(help_text="What exceeds it passes, and is counted.")


class ObservedSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe what is in force at the broker, as its agent observes it."""

    version = serializers.CharField(allow_blank=True)
    number = serializers.IntegerField(
        required=False, default=0, help_text="Number of the document that the agent enforces."
    )
    gates = serializers.DictField(child=GateSerializer())
    buckets = serializers.DictField(
        child=BucketSerializer(), default=dict, help_text="By topic: parts of buckets in force."
    )
    publishers = serializers.DictField(
        child=serializers.CharField(),
        default=dict,
        help_text="By topic: digest of the publishers that are let in, once all others have left.",
    )
    limits = serializers.DictField(child=serializers.IntegerField())
    admitted = serializers.DictField(child=serializers.IntegerField())
    waiting = serializers.DictField(child=serializers.IntegerField())
    links = serializers.ListField(child=serializers.CharField())
    problems = serializers.ListField(child=serializers.CharField())


class AgentSerializer(serializers.ModelSerializer[Agent]):
    """Describe an agent; `state` is as of now, including its lease."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    system = serializers.UUIDField(source="system.public_id", read_only=True)
    system_name = serializers.CharField(source="system.name", read_only=True)
    broker = serializers.UUIDField(source="broker.public_id", read_only=True)
    broker_name = serializers.CharField(source="broker.name", read_only=True)
    state = serializers.SerializerMethodField()
    address = serializers.CharField(
        read_only=True, help_text="Where neighbours' agents reach the broker; fixed by a person."
    )
    said_address = serializers.CharField(
        read_only=True, help_text="Where the agent says that it is; only compared with `address`."
    )
    address_problem = serializers.CharField(
        read_only=True, help_text="What to do about the address; empty: nothing."
    )
    public_key = serializers.CharField(
        read_only=True, help_text="By which neighbours' agents know this one."
    )
    facts = serializers.DictField(read_only=True)
    capabilities = serializers.DictField(read_only=True)
    observed = ObservedSerializer(read_only=True, allow_null=True)
    database_restored = serializers.BooleanField(
        source="is_ahead",
        read_only=True,
        help_text="It has obeyed a document that this database does not know.",
    )
    allowed_commands = serializers.SerializerMethodField()

    class Meta:
        model = Agent
        fields = [
            "id",
            "system",
            "system_name",
            "broker",
            "broker_name",
            "state",
            "prefix",
            "enrolled_at",
            "updated_at",
            "revoked_at",
            "incarnation",
            "lease_until",
            "agent_version",
            "product",
            "address",
            "said_address",
            "address_problem",
            "public_key",
            "facts",
            "capabilities",
            "observed",
            "observed_at",
            "last_report_at",
            "served_number",
            "obeyed_number",
            "database_restored",
            "allowed_commands",
        ]
        read_only_fields = fields

    @extend_schema_field(serializers.ChoiceField(choices=AGENT_STATES))
    def get_state(self, agent: Agent) -> str:
        return agent.state(timezone.now()).value

    @extend_schema_field(command_list(AGENT_COMMANDS))
    def get_allowed_commands(self, agent: Agent) -> list[str]:
        request = self.context.get("request")
        if request is None or Permission.ADMINISTER not in granted(request):
            return []
        ended = agent.revoked_at is not None
        return ["enrol", "edit"] if ended else ["enrol", "edit", "revoke"]


class NewAgentSerializer(AgentSerializer):
    """Describe a new agent, the only time that its credential is shown."""

    credential = serializers.CharField(read_only=True)

    class Meta(AgentSerializer.Meta):
        fields = [*AgentSerializer.Meta.fields, "credential"]
        read_only_fields = fields


class EnrolSerializer(Form[dict[str, Any]]):
    """Read the broker beside which the agent runs."""

    broker = SystemReference(queryset=Broker.objects.select_related("system"))
    address = serializers.CharField(
        required=False,
        max_length=LONGEST,
        help_text="Where neighbours' agents reach the broker, such as nats://10.1.2.3:4222. May be "
        "left out where one is fixed already, and for simulated brokers.",
    )

    def validate_address(self, value: str) -> str:
        return _no_fault(value)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        broker: Broker = attrs["broker"]
        fixed = Agent.objects.filter(broker=broker).exclude(address="").exists()
        simulated = broker.system.product == Product.SIMULATED
        if not (attrs.get("address") or fixed or simulated):
            raise serializers.ValidationError({"address": address_fault("")})
        return attrs


class AgentAddressSerializer(Form[dict[str, Any]]):
    """Read where neighbours' agents reach the broker."""

    address = serializers.CharField(max_length=LONGEST)
    reason = serializers.CharField(required=False, allow_blank=True, max_length=500, default="")

    def validate_address(self, value: str) -> str:
        return _no_fault(value)


def _no_fault(address: str) -> str:
    fault = address_fault(address)
    if fault:
        raise serializers.ValidationError(fault)
    return address


def _bins(*, help_text: str) -> serializers.ListField:
    """Return the field of a histogram of delays that may be absent."""
    bin_ = serializers.ListField(
        child=serializers.IntegerField(min_value=-(2**53), max_value=2**53),
        min_length=2,
        max_length=2,
    )
    return serializers.ListField(child=bin_, required=False, help_text=help_text)


class FlowSampleSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe one flow at its ingress gate, over the last interval."""

    offered_per_s = serializers.FloatField(required=False)
    passed_per_s = serializers.FloatField(required=False)
    shed_per_s = serializers.FloatField(required=False)
    limit_per_s = serializers.FloatField(
        required=False,
        help_text="The rate that the gate holds messages to; absent where it lets everything pass, "
        "and of agents that do not report it.",
    )
    limit_burst = serializers.FloatField(
        required=False, help_text="The bucket of that gate, messages; absent as `limit_per_s`."
    )
    backlog = serializers.FloatField(required=False, help_text="Messages that wait at the gate.")
    backlog_peak = serializers.FloatField(
        required=False,
        help_text="The most that waited at looks a second apart in the last 10 s; absent of agents "
        "that do not look.",
    )
    backlog_bytes = serializers.FloatField(required=False, help_text="As the broker stores them.")
    most_messages = serializers.FloatField(
        required=False, help_text="How many may wait; absent where no such limit is known."
    )
    most_bytes = serializers.FloatField(
        required=False, help_text="How many bytes may wait; absent where no such limit is known."
    )
    keep_s = serializers.FloatField(
        required=False, help_text="How old a waiting message may become; absent: any age."
    )
    passed_bytes_per_s = serializers.FloatField(
        required=False,
        help_text="Bytes of the payloads that passed; absent of agents that do not count them.",
    )
    message_bytes = serializers.FloatField(
        required=False,
        help_text="Mean payload of the messages that passed; absent where none did.",
    )
    ack_s = serializers.FloatField(
        required=False,
        help_text="Mean time until the broker acknowledges a batch of a reliable flow.",
    )
    bucket_messages = serializers.FloatField(
        required=False,
        help_text="Messages since the broker's part of the topic's bucket is counted; absent where "
        "none is only counted.",
    )
    bucket_held = serializers.FloatField(
        required=False, help_text="How many of them that part would have held."
    )
    bucket_p99_s = serializers.FloatField(
        required=False, help_text="What 99 % of them would have waited at most."
    )
    bucket_longest_s = serializers.FloatField(required=False, help_text="The longest such wait.")
    wait_messages = serializers.FloatField(
        required=False,
        help_text="Messages that left through the flow's gate in the last minute; absent, like the "
        "other three, where none did or no gate is set.",
    )
    wait_p99_s = serializers.FloatField(
        required=False,
        help_text="What 99 % of them waited at most, from their arrival at the broker, 5 % too "
        "long at worst.",
    )
    wait_mean_s = serializers.FloatField(required=False, help_text="Their mean wait.")
    wait_longest_s = serializers.FloatField(required=False, help_text="The longest such wait.")
    gate_delays = _bins(
        help_text="Bins, and how many messages left in the interval after a wait of each: above "
        "2^(bin/16) s and at most 2^((bin + 1)/16) s, those that did not wait at all in -479. "
        "Absent where none left, and of agents that do not count them.",
    )
    gate_longest_s = serializers.FloatField(
        required=False, help_text="The longest wait of these messages."
    )
    work_peak = serializers.FloatField(
        required=False,
        help_text="The largest unfinished work since the last sample at the broker's part of the "
        "topic's bucket, messages: tokens that are missing from it and messages that wait for one. "
        "Absent where no part is enforced.",
    )
    work_waiting = serializers.FloatField(
        required=False,
        help_text="Messages that wait for a token of this part. `backlog` counts also those of a "
        "reliable topic that have passed and that the broker has not removed yet.",
    )
    profile_s = serializers.FloatField(
        required=False,
        help_text="Seconds since the broker's part of the topic's bucket and its list of "
        "publishers came into force; absent, like all of the profile, where no part is enforced.",
    )
    profile_messages = serializers.FloatField(
        required=False,
        help_text="Messages that arrived since then, while the gate was open, and left through it; "
        "where there are none only this, the time, the part and the list are there.",
    )
    profile_rate_per_s = serializers.FloatField(
        required=False, help_text="Tokens per second of the part that the profile is of."
    )
    profile_size = serializers.FloatField(required=False, help_text="Tokens that this part holds.")
    profile_publishers = serializers.FloatField(
        required=False, help_text="Publishers in its list; absent where it has none."
    )
    profile_mean_s = serializers.FloatField(
        required=False, help_text="Their mean wait, from their arrival at the broker."
    )
    profile_mean_low_s = serializers.FloatField(
        required=False,
        help_text="The lower end of the interval that holds this mean at 95 %; 0 while nothing is "
        "known.",
    )
    profile_mean_high_s = serializers.FloatField(
        required=False, help_text="Its upper end; absent while too little was measured to bound it."
    )
    profile_independent = serializers.FloatField(
        required=False,
        help_text="How many independent messages they are worth; 0 while that is not known.",
    )
    profile_p99_s = serializers.FloatField(
        required=False, help_text="What 99 % of them waited at most, 5 % too long at worst."
    )
    profile_p99_low_s = serializers.FloatField(
        required=False,
        help_text="The lower end of the interval that holds this percentile at 95 %; 0 while "
        "nothing is known.",
    )
    profile_p99_high_s = serializers.FloatField(
        required=False, help_text="Its upper end; absent while too little was measured to bound it."
    )
    profile_own_p99_s = serializers.FloatField(
        required=False,
        help_text="The same of what they waited beyond the moment at which the part of the bucket "
        "would have let them go.",
    )
    profile_own_p99_low_s = serializers.FloatField(
        required=False, help_text="The lower end of its interval."
    )
    profile_own_p99_high_s = serializers.FloatField(
        required=False, help_text="Its upper end; absent while it is not bounded."
    )


class BacklogSerializer(serializers.Serializer[Backlog]):
    """Describe the messages of one reliable topic that wait at their gate, and when they are
    full."""

    topic = serializers.CharField()
    topic_id = serializers.UUIDField()
    broker = serializers.CharField(help_text="Where they wait; of several, where they end first.")
    waiting = serializers.IntegerField(help_text="Messages.")
    slope_per_s = serializers.FloatField(
        allow_null=True,
        help_text="Messages per second by which they grow, over the last two minutes; null: it "
        "cannot be told yet.",
    )
    full_in_s = serializers.FloatField(
        allow_null=True, help_text="Seconds until the first known limit is reached; null: see why."
    )
    limit = serializers.ChoiceField(
        choices=[limit.value for limit in Limit],
        allow_null=True,
        help_text="The limit that is reached first: messages or bytes of the stream before the "
        "gate, the age at which the broker drops them, or its storage.",
    )
    most = serializers.FloatField(
        allow_null=True, help_text="That limit, in messages, bytes or seconds."
    )
    why = serializers.CharField(help_text="Why no time can be told; empty where one is.")
    growth = serializers.ChoiceField(
        choices=[growth.value for growth in Growth],
        help_text="alarm: they are full, or grew for the whole two minutes and are full within "
        "an hour. unknown: too few samples since the agent began.",
    )
    sentence = serializers.CharField(help_text="All of it in words.")


class ClassSampleSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe one consumer class at the broker."""

    admitted = serializers.IntegerField(required=False)
    waiting = serializers.IntegerField(required=False)
    limit = serializers.IntegerField(
        required=False,
        help_text="The most consumers that are let in; absent where there is no limit, and of "
        "agents that do not report it.",
    )
    delivered_per_s = serializers.FloatField(required=False)
    delivery_delays = _bins(
        help_text="Bins as in `gate_delays`, of how long messages took from their publishers to "
        "the class' consumers, as these have reported since the last sample; absent where none has."
    )
    delivery_longest_s = serializers.FloatField(
        required=False, help_text="The longest of these delays."
    )
    skewed = serializers.FloatField(
        required=False,
        help_text="How many of these messages came before they were sent, by the clocks of both "
        "ends; their delays count as 0.",
    )
    answer_delays = _bins(
        help_text="The same of requests of the class' consumers, until they were answered."
    )
    answer_longest_s = serializers.FloatField(
        required=False, help_text="The longest of these delays."
    )
    pauses = serializers.FloatField(
        required=False,
        help_text="How many requests of the class' consumers began after a pause, as these have "
        "reported since the last sample.",
    )
    paused_s = serializers.FloatField(
        required=False, help_text="All of these pauses together, seconds."
    )
    unanswered = serializers.FloatField(
        required=False, help_text="Requests that were not answered in time."
    )


class LinkSampleSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe one link, as the agent at this end sees it."""

    sent_per_s = serializers.FloatField(required=False)
    received_per_s = serializers.FloatField(required=False)
    backlog = serializers.FloatField(required=False, help_text="Messages that wait for the link.")
    backlog_peak = serializers.FloatField(
        required=False,
        help_text="The most that waited at looks a second apart in the last 10 s; absent of agents "
        "that do not look.",
    )


class BrokerLoadSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe the load of the broker process."""

    connections = serializers.IntegerField(required=False)
    in_msgs_per_s = serializers.FloatField(required=False)
    out_msgs_per_s = serializers.FloatField(required=False)
    out_most_per_s = serializers.FloatField(
        required=False,
        help_text="With what was sent between the counts of consumers and the broker's own in the "
        "reading before, msg/s: deliveries of the interval may hold it.",
    )
    in_bytes_per_s = serializers.FloatField(
        required=False,
        help_text="Bytes of messages that came in, with their headers; absent where not known.",
    )
    out_bytes_per_s = serializers.FloatField(
        required=False, help_text="The same of messages that went out."
    )
    entered_per_s = serializers.FloatField(
        required=False,
        help_text="Messages that entered at all gates in the latest interval that can be compared "
        "with the broker's own total; absent where there is none.",
    )
    entered_most_per_s = serializers.FloatField(
        required=False, help_text="What came to the broker then in all: no more can have entered."
    )
    entered_ago_s = serializers.FloatField(
        required=False, help_text="How many seconds before the report that interval began."
    )
    cpu_ratio = serializers.FloatField(required=False, help_text="1 is one core in full use.")
    cores = serializers.FloatField(required=False, help_text="Cores that the broker may use.")
    memory_bytes = serializers.FloatField(required=False)
    stored_bytes = serializers.FloatField(required=False, help_text="Of all stored messages.")
    most_stored_bytes = serializers.FloatField(
        required=False, help_text="What it may store; absent where no such limit is known."
    )
    unmanaged = serializers.ListField(
        child=serializers.CharField(), help_text="Clients that name no consumer class."
    )
    sync_always = serializers.BooleanField(
        allow_null=True, help_text="Acknowledges only what is on disk; null: not known."
    )


class AgentLoadSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe the load of the agent process since it started."""

    cpu_s = serializers.FloatField(required=False)
    forwarded = serializers.FloatField(required=False, help_text="Messages.")
    waiting_bytes = serializers.FloatField(
        required=False, help_text="Of messages that wait in the agent."
    )
    memory_bytes = serializers.FloatField(
        required=False, help_text="The most that the process has used."
    )
    began_at = serializers.FloatField(
        required=False, help_text="Since when its counters count; Unix seconds."
    )


PARTS = ("flows", "classes", "links", "broker", "agent")


class LossSerializer(serializers.ModelSerializer[Loss]):
    """Describe all known messages of one flow that were lost at one broker for one reason."""

    broker = serializers.UUIDField(source="broker.public_id")
    broker_name = serializers.CharField(source="broker.name")
    reason = serializers.ChoiceField(choices=list(REASONS.items()))
    explanation = serializers.SerializerMethodField()

    class Meta:
        model = Loss
        fields = [
            *("broker", "broker_name", "flow", "reason", "explanation", "count"),
            *("first_at", "last_at"),
        ]
        read_only_fields = fields

    def get_explanation(self, loss: Loss) -> str:
        return REASONS.get(loss.reason, loss.reason)


class LossListSerializer(serializers.Serializer[Any]):
    """List all losses of a system, the latest first."""

    results = LossSerializer(many=True)


class PointSerializer(serializers.Serializer[Sample]):
    """Describe what one broker's agent measured at one moment."""

    # A sample was checked member by member when it came in and is returned as it is stored: a page
    # asks for thousands of them.

    at = serializers.DateTimeField()
    interval_s = serializers.FloatField(source="payload.interval_s")
    flows = serializers.DictField(child=FlowSampleSerializer(), source="payload.flows")
    classes = serializers.DictField(child=ClassSampleSerializer(), source="payload.classes")
    links = serializers.DictField(child=LinkSampleSerializer(), source="payload.links")
    broker_load = BrokerLoadSerializer(source="payload.broker")
    agent = AgentLoadSerializer(source="payload.agent")
    suspect = serializers.CharField(
        help_text="Why the measurements cannot be true; empty: nothing speaks against them. Those"
        " that contradict each other are left out.",
    )

    def to_representation(self, instance: Sample) -> dict[str, Any]:
        only = self.context.get("only")
        payload = instance.payload
        part = {name: payload.get(name, {}) if only in (None, name) else {} for name in PARTS}
        if "suspect" in payload:
            part["classes"] = {
                name: {member: row[member] for member in row if member != "delivered_per_s"}
                for name, row in part["classes"].items()
            }
        return {
            "at": instant(instance.at),
            "interval_s": payload["interval_s"],
            "flows": part["flows"],
            "classes": part["classes"],
            "links": part["links"],
            "broker_load": part["broker"] or {"unmanaged": [], "sync_always": None},
            "agent": part["agent"],
            "suspect": payload.get("suspect", ""),
        }


class TelemetrySerializer(PointSerializer):
    """Describe the newest measurements of one broker."""

    broker = serializers.UUIDField(source="broker.public_id")
    broker_name = serializers.CharField(source="broker.name")

    def to_representation(self, instance: Sample) -> dict[str, Any]:
        broker = {"broker": str(instance.broker.public_id), "broker_name": instance.broker.name}
        return {**super().to_representation(instance), **broker}


class BrokerLevelsSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe what one broker handled, cell by cell."""

    broker = serializers.UUIDField()
    broker_name = serializers.CharField()
    handled_per_s = serializers.ListField(
        child=serializers.FloatField(allow_null=True),
        help_text="Means of messages from publishers, over links and to consumers, msg/s, "
        "oldest first; null: nothing measured.",
    )


class LevelsSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe what brokers handled over a span of time, in cells of equal length; the last one is
    still running."""

    cell_s = serializers.IntegerField()
    since = serializers.DateTimeField()
    until = serializers.DateTimeField()
    brokers = BrokerLevelsSerializer(many=True)


class SeriesSerializer(serializers.Serializer[dict[str, Any]]):
    """List the measurements of one broker, oldest first."""

    broker = serializers.UUIDField()
    broker_name = serializers.CharField()
    minutes = serializers.FloatField()
    points = PointSerializer(many=True)
