"""Read requests for maps of flows, and describe them."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.accounts.api.permissions import granted
from apps.accounts.domain.roles import Permission
from apps.catalog.api.views import ParameterDescriptionSerializer
from apps.common.api.fields import EDIT_ONLY, Amount, choices, command_list
from apps.common.api.forms import Form, ModelForm
from apps.mappings.models import Mapping, MappingSettings
from apps.mappings.services.propose import MOST_PER_STEP
from apps.runs.api.views import RunSerializer
from apps.systems.api.entities import SystemReference
from weir.clustering import DEFAULT as DEFAULT_METHOD
from weir.reading import LARGEST_NUMBER

MAPPING_COMMANDS = choices("cancel", "plan", "rerun")
COMPARED_MAPS = choices("random", "flat", "in_force", "proposed", "anew")
PIN_KINDS = choices("flow", "stream")
LAYERS = choices("transport", "messaging")
COST = "What unwanted traffic costs all receivers, work/s."
TRANSPORT = "Its part for packets of streams that they do not want, work/s."
MESSAGING = "Its part for messages of wanted streams that they do not want, work/s."
UNWANTED = "Messages that receivers are handed and do not want, msg/s."
DROPPED = "Messages in streams that receivers drop whole, packet by packet, msg/s."
MOVED = "Flows that change their stream."
MOVED_STREAMS = "Streams that change their group."


class MappingSettingsSerializer(ModelForm[MappingSettings]):
    """Describe what receiving and moving costs in one system."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    system = serializers.UUIDField(source="system.public_id", read_only=True)
    system_name = serializers.CharField(source="system.name", read_only=True)
    transport = Amount(
        required=False,
        max_value=LARGEST_NUMBER,
        help_text="Work of a receiver per packet of a joined group.",
    )
    messaging = Amount(
        required=False,
        max_value=LARGEST_NUMBER,
        help_text="Work of a receiver per message of a wanted stream.",
    )
    aggregation = Amount(
        required=False, min_value=1, max_value=1e8, help_text="Messages in a packet, at least 1."
    )
    flow_move_work = Amount(
        required=False,
        max_value=LARGEST_NUMBER,
        help_text="Work of moving one flow to another stream, of all receivers.",
    )
    stream_move_work = Amount(
        required=False,
        max_value=LARGEST_NUMBER,
        help_text="Work of moving one stream to another group, of all receivers.",
    )
    horizon_s = Amount(
        required=False,
        min_value=1,
        max_value=1e8,
        help_text="The time over which a move has to pay for itself, s.",
    )
    flows_per_s = Amount(
        required=False,
        min_value=1e-3,
        max_value=1e8,
        help_text="Flows, or streams, that are moved in a second when a plan is executed.",
    )
    allowed_commands = serializers.SerializerMethodField()
    reason = serializers.CharField(
        write_only=True, required=False, allow_blank=True, max_length=500
    )

    class Meta:
        model = MappingSettings
        fields = [
            "id",
            "system",
            "system_name",
            "transport",
            "messaging",
            "aggregation",
            "flow_move_work",
            "stream_move_work",
            "horizon_s",
            "flows_per_s",
            "version",
            "updated_at",
            "allowed_commands",
            "reason",
        ]
        read_only_fields = ["version", "updated_at"]

    @extend_schema_field(command_list(EDIT_ONLY))
    def get_allowed_commands(self, row: MappingSettings) -> list[str]:
        request = self.context.get("request")
        may = request is not None and Permission.EDIT_MODEL in granted(request)
        return ["edit"] if may else []


class MappingRequestSerializer(Form[dict[str, Any]]):
    """Read which system's flows to map, and how."""

    system = SystemReference()
    method = serializers.CharField(
        required=False, default=DEFAULT_METHOD, help_text="A name from /mapping-methods."
    )
    parameters = serializers.DictField(
        required=False, default=dict, help_text="As /mapping-methods describes them."
    )
    seed = serializers.IntegerField(required=False, default=0, min_value=0, max_value=2**31 - 1)
    time_limit_s = Amount(
        required=False,
        allow_null=True,
        default=None,
        min_value=0.1,
        max_value=3600,
        help_text="After this time the best map so far is the answer, s; null: no limit.",
    )
    note = serializers.CharField(
        required=False, allow_blank=True, default="", max_length=2000, help_text="Why."
    )


class MappingPlanRequestSerializer(Form[dict[str, Any]]):
    """Read which of a mapping's maps becomes a plan, and how its moves are paced."""

    map = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        max_length=20,
        help_text="The place of a map in `outcome.points`, from 0; left out: the proposed one.",
    )
    title = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        max_length=200,
        help_text="Default: what it moves, such as `Move 114 flows as M-1 has it`.",
    )
    moves_per_step = serializers.IntegerField(
        required=False,
        allow_null=True,
        default=None,
        min_value=1,
        max_value=MOST_PER_STEP,
        help_text="Flows and streams that move in one step; null: those of one second, by the "
        "pace of the system's mapping settings. Between steps that pace is kept.",
    )


class MapCostsSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe what a map costs, by layer; base of what has a cost."""

    cost = serializers.FloatField(help_text=COST)
    transport_cost = serializers.FloatField(help_text=TRANSPORT)
    messaging_cost = serializers.FloatField(help_text=MESSAGING)
    unwanted_per_s = serializers.FloatField(help_text=UNWANTED)
    dropped_per_s = serializers.FloatField(help_text=DROPPED)


class MeasuredCostsSerializer(MapCostsSerializer):
    """Describe what a map costs at the rates that agents measured."""

    wanted_per_s = serializers.FloatField(
        help_text="Messages that receivers get and asked for, of all receivers together, msg/s."
    )
    seconds = serializers.FloatField(help_text="The time over which rates were averaged, s.")


class MapInForceSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe what the map that is in force now costs, at the rates and weights of now."""

    model_version = serializers.IntegerField(help_text="That it was computed at.")
    because = serializers.CharField(
        help_text="Why nothing can be computed, and what to do; empty: it can."
    )
    wanted_flows = serializers.IntegerField(help_text="Topics that somebody wants.")
    mapped_flows = serializers.IntegerField(
        help_text="Those of them that are in a stream with a group."
    )
    missing_flows = serializers.IntegerField(
        help_text="Those of them that are in none: nobody receives them."
    )
    costs = MapCostsSerializer(allow_null=True)
    measured = MeasuredCostsSerializer(
        allow_null=True,
        help_text="At the rates that agents measured in the last seconds; null: no agent measures.",
    )


class ComparedMapSerializer(MapCostsSerializer):
    """Describe what a map to compare with costs."""

    map = serializers.ChoiceField(choices=COMPARED_MAPS)


class MapPointSerializer(MapCostsSerializer):
    """Describe a map that can be chosen: more moves, less cost."""

    moved = serializers.IntegerField(help_text=MOVED)
    moved_streams = serializers.IntegerField(help_text=MOVED_STREAMS)
    placed = serializers.IntegerField(help_text="Flows that get a stream and had none.")
    retired = serializers.IntegerField(help_text="Flows that had a stream and nobody wants now.")
    opened_streams = serializers.IntegerField(
        read_only=True, default=0, help_text="Streams that get their first group."
    )
    duration_s = serializers.FloatField(
        help_text="How long flows and streams take to move at the pace set, s."
    )
    pays_after_s = serializers.FloatField(
        allow_null=True,
        help_text="When the work of what it moves beyond the first of these maps is saved, s; "
        "null: it saves nothing against that one.",
    )
    gain_share = serializers.FloatField(
        allow_null=True,
        help_text="Its part of what the cheapest of these maps saves; null: none saves anything.",
    )


class MappingPinSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe a pin, and what it costs by the proposed map."""

    kind = serializers.ChoiceField(choices=PIN_KINDS)
    name = serializers.CharField(help_text="Of the topic, or of the stream.")
    to = serializers.IntegerField(help_text="The number of the stream, or of the group.")
    number = serializers.IntegerField(
        allow_null=True, help_text="Of a stream: its own number; null: it is a topic."
    )
    price = serializers.FloatField(
        help_text="What the best move of it alone would save without the pin, work/s."
    )


class MappingWeightsSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe the settings that the map was computed with."""

    transport = serializers.FloatField(help_text="Work per packet.")
    messaging = serializers.FloatField(help_text="Work per message.")
    aggregation = serializers.FloatField(help_text="Messages in a packet.")
    move_cost = serializers.FloatField(help_text="What a moved flow was charged, work/s.")
    stream_move_cost = serializers.FloatField(help_text="What a moved stream was charged, work/s.")
    flow_move_work = serializers.FloatField(help_text="Work of moving one flow.")
    stream_move_work = serializers.FloatField(help_text="Work of moving one stream.")
    horizon_s = serializers.FloatField(help_text="The time over which moves have to pay, s.")
    flows_per_s = serializers.FloatField(help_text="Flows, or streams, that are moved in a second.")


class MappingOutcomeSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe what a map comes to."""

    weights = MappingWeightsSerializer()
    unmapped = serializers.IntegerField(
        help_text="Wanted flows that had no stream in the map that was in force."
    )
    wanted_per_s = serializers.FloatField(
        default=None,
        allow_null=True,
        help_text="Messages that receivers get and asked for by the proposed map, of all receivers "
        "together, msg/s; null: mapped before this was kept.",
    )
    former_wanted_per_s = serializers.FloatField(
        default=None,
        allow_null=True,
        help_text="The same by the map that was in force; null: there was none, or mapped before "
        "this was kept.",
    )
    compared = ComparedMapSerializer(
        many=True,
        help_text="In this order: random, flat, in_force, proposed, anew. Without flat where no "
        "time or memory was left for it, without in_force where no map was in force, without anew "
        "where the curve of moves was not drawn to its end.",
    )
    points = MapPointSerializer(
        many=True,
        help_text="Maps that can be chosen, by rising moves. Where a map was in force the first "
        "keeps it: only flows without a stream, and those that pins tear away, move. Else there "
        "is only the proposed one.",
    )
    proposed = serializers.IntegerField(help_text="Which of `points` is proposed, from 0.")
    pins = MappingPinSerializer(
        many=True, help_text="The dearest first, at most a thousand of them."
    )
    pin_count = serializers.IntegerField(help_text="How many pins there were in all.")


class MappingSerializer(serializers.ModelSerializer[Mapping]):
    """Describe a map of a system's flows without what is compared with it."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    name = serializers.CharField(source="__str__", read_only=True, help_text="Such as `M-3`.")
    system = serializers.UUIDField(source="system.public_id", read_only=True)
    system_name = serializers.CharField(source="system.name", read_only=True)
    run = serializers.UUIDField(source="run.public_id", read_only=True)
    run_number = serializers.IntegerField(source="run.pk", read_only=True)
    asked_by = serializers.CharField(
        source="run.asked_by.display_name", read_only=True, allow_null=True, default=None
    )
    asked_by_id = serializers.UUIDField(
        source="run.asked_by.public_id", read_only=True, allow_null=True, default=None
    )
    updated_at = serializers.DateTimeField(source="changed_at", read_only=True)
    allowed_commands = serializers.SerializerMethodField()

    class Meta:
        model = Mapping
        fields = [
            "id",
            "name",
            "number",
            "system",
            "system_name",
            "method",
            "complete",
            "run",
            "run_number",
            "flows",
            "wanted_flows",
            "users",
            "interests",
            "streams",
            "groups",
            "cost",
            "former_cost",
            "kept_cost",
            "random_cost",
            "moved",
            "moved_streams",
            "unwanted_per_s",
            "asked_by",
            "asked_by_id",
            "created_at",
            "updated_at",
            "allowed_commands",
        ]
        read_only_fields = fields

    @extend_schema_field(command_list(MAPPING_COMMANDS))
    def get_allowed_commands(self, mapping: Mapping) -> list[str]:
        commands = RunSerializer(context=self.context).get_allowed_commands(mapping.run)
        request = self.context.get("request")
        if (
            request is not None
            and Permission.PROPOSE_PLAN in granted(request)
            and mapping.run.snapshot.model_version == mapping.system.model_version
        ):
            commands = [*commands, "plan"]
        return commands


class MappingDetailSerializer(MappingSerializer):
    """Describe a map with the maps to compare with, the curve of moves, and its pins."""

    model_version = serializers.IntegerField(source="run.snapshot.model_version", read_only=True)
    snapshot_hash = serializers.CharField(source="run.snapshot.content_hash", read_only=True)
    seed = serializers.IntegerField(source="run.seed", read_only=True)
    parameters = serializers.DictField(source="run.parameters", read_only=True)
    outcome = MappingOutcomeSerializer(read_only=True)

    class Meta(MappingSerializer.Meta):
        fields = [
            *MappingSerializer.Meta.fields,
            "model_version",
            "snapshot_hash",
            "seed",
            "parameters",
            "note",
            "outcome",
        ]
        read_only_fields = fields


class HeatGroupSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe one column: a group, or several beside each other."""

    numbers = serializers.ListField(child=serializers.IntegerField(), help_text="Of its groups.")
    streams = serializers.IntegerField(help_text="Streams in it that carry something.")
    flows = serializers.IntegerField()
    rate_per_s = serializers.FloatField(help_text="What it carries, msg/s.")
    users = serializers.IntegerField(help_text="Receivers that join it, of several groups added.")
    unwanted_per_s = serializers.FloatField(
        help_text="What reaches its receivers and they do not want, at both layers, msg/s."
    )


class HeatRowSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe one row: receivers beside each other."""

    first = serializers.CharField(help_text="The name of its first receiver.")
    last = serializers.CharField()
    users = serializers.IntegerField()
    unwanted_per_s = serializers.FloatField(help_text="At both layers, of all of them, msg/s.")


class HeatSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe who receives what from which group: receivers over groups, both ordered so that
    those with the same groups stand together."""

    groups = HeatGroupSerializer(many=True)
    rows = HeatRowSerializer(many=True)
    joined = serializers.ListField(
        child=serializers.ListField(child=serializers.IntegerField()),
        help_text="By row and column: receivers that join, of several groups added.",
    )
    wanted_per_s = serializers.ListField(
        child=serializers.ListField(child=serializers.FloatField()),
        help_text="By row and column: what they asked for, msg/s.",
    )
    unwanted_per_s = serializers.ListField(
        child=serializers.ListField(child=serializers.FloatField()),
        help_text="By row and column: messages that they are handed and do not want, msg/s.",
    )
    dropped_per_s = serializers.ListField(
        child=serializers.ListField(child=serializers.FloatField()),
        help_text="By row and column: messages of streams that they drop whole, msg/s.",
    )


class ReceiverSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe what one receiver gets by a map, and what it filters."""

    user = serializers.CharField(help_text="The subscriber's name.")
    flows = serializers.IntegerField(help_text="Topics that it wants.")
    wanted_per_s = serializers.FloatField(help_text="What it asked for, msg/s.")
    streams = serializers.IntegerField(help_text="Streams that it takes.")
    groups = serializers.IntegerField(help_text="Groups that it joins.")
    unwanted_per_s = serializers.FloatField(
        help_text="Messages that it is handed and does not want, msg/s."
    )
    dropped_per_s = serializers.FloatField(
        help_text="Messages of streams that it drops whole, msg/s."
    )
    cost = serializers.FloatField(help_text="What both cost it, work/s.")


class UnwantedFlowSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe a flow that reaches a receiver that does not want it, and why."""

    flow = serializers.CharField()
    rate_per_s = serializers.FloatField()
    stream = serializers.IntegerField()
    group = serializers.IntegerField()
    layer = serializers.ChoiceField(
        choices=LAYERS,
        help_text="Where it is filtered: with its whole stream at the transport, or by messages.",
    )
    cost = serializers.FloatField(help_text="What that costs the receiver, work/s.")
    because = serializers.CharField(
        help_text="The busiest flow that the receiver wants of that stream, or else of that group."
    )


class ReceiverDetailSerializer(ReceiverSerializer):
    """Describe one receiver with the flows that it filters."""

    unwanted_flows = serializers.IntegerField(help_text="How many reach it.")
    dearest = UnwantedFlowSerializer(many=True, help_text="The dearest of them, at most 50.")


class FlowMoveSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe a flow that changes its stream, or its group with it."""

    flow = serializers.CharField()
    rate_per_s = serializers.FloatField()
    users = serializers.IntegerField(help_text="Subscribers that want it.")
    from_stream = serializers.IntegerField(allow_null=True, help_text="Null: it had none.")
    from_group = serializers.IntegerField(allow_null=True, help_text="Null: it had none.")
    to_stream = serializers.IntegerField(allow_null=True, help_text="Null: nobody wants it.")
    to_group = serializers.IntegerField(allow_null=True, help_text="Null: nobody wants it.")


class MappingMethodSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe a method with its parameters."""

    name = serializers.CharField()
    is_default = serializers.BooleanField(
        help_text="Whether a request without a method gets this one."
    )
    title = serializers.CharField()
    summary = serializers.CharField()
    parameters = ParameterDescriptionSerializer(many=True)


class MappableSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe what of a system would be mapped now."""

    flows = serializers.IntegerField(help_text="Topics.")
    wanted_flows = serializers.IntegerField(help_text="Topics that somebody wants.")
    mapped_flows = serializers.IntegerField(
        help_text="Wanted topics that have a stream with a group."
    )
    users = serializers.IntegerField(help_text="Subscribers.")
    interests = serializers.IntegerField(help_text="Pairs of subscriber and wanted topic.")
    streams = serializers.IntegerField()
    groups = serializers.IntegerField()
    pinned_flows = serializers.IntegerField()
    pinned_streams = serializers.IntegerField()
    because = serializers.CharField(
        help_text="Why nothing can be mapped, and what to do; empty where it can."
    )
