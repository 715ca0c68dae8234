"""Read requests for placements, and describe them."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.accounts.api.permissions import granted
from apps.accounts.domain.roles import Permission
from apps.catalog.api.views import ParameterDescriptionSerializer
from apps.catalog.models import Topic
from apps.common.api.fields import Amount, choices, command_list
from apps.common.api.forms import Form
from apps.placements.api.outcome import (
    MEAN,
    MOVED,
    P99,
    MeasuredPlacementSerializer,
    PlacementOutcomeSerializer,
)
from apps.placements.models import Move, Placement
from apps.placements.selectors.parts import MeasuredPart
from apps.runs.api.views import ComputedSerializer, RunSerializer
from apps.systems.api.entities import Reference, SystemReference
from apps.topology.models import Broker
from weir.actions.set_bucket import COUNT, ENFORCE
from weir.codec.placement import MOST_BATCH
from weir.placement import DEFAULT as DEFAULT_METHOD
from weir.placement.adaptation import Params
from weir.plugins import describe
from weir.reading import LARGEST_NUMBER, SMALLEST_NUMBER

MOST_ADDED = 16
ROUND = "1; of a placement made by measurements one more than of the one that was measured."
MOST_GROUP = 1000
PART_MODES = choices(ENFORCE, COUNT)
PLACEMENT_COMMANDS = choices("again", "cancel", "plan", "rerun", "what_if")


class PlacementRequestSerializer(Form[dict[str, Any]]):
    """Read which topic's publishers to place, and how."""

    system = SystemReference()
    topic = Reference(Topic)
    method = serializers.CharField(
        required=False, default=DEFAULT_METHOD, help_text="A name from /placement-methods."
    )
    parameters = serializers.DictField(
        required=False, default=dict, help_text="As /placement-methods describes them."
    )
    drained_brokers = Reference(
        Broker,
        many=True,
        required=False,
        help_text="Brokers that shall serve nobody of the topic.",
    )
    seed = serializers.IntegerField(required=False, default=0, min_value=0, max_value=2**31 - 1)
    note = serializers.CharField(
        required=False, allow_blank=True, default="", max_length=2000, help_text="Why."
    )

    # The view's context is one mutable dict, which also holds what reading computes.
    context: dict[str, Any]

    def to_internal_value(self, data: Any) -> Any:
        # Topic and brokers are looked up within the system, so that must be known before.
        if isinstance(data, dict):
            try:
                system = self.fields["system"].to_internal_value(data.get("system"))
            except serializers.ValidationError:
                system = None
            self.context["system"] = system
        return super().to_internal_value(data)


class Positive(Amount):
    """Accept a number above 0 that the kernel can compute with; null stands for what was frozen."""

    def __init__(self, **kwargs: Any) -> None:
        bounds = {"min_value": SMALLEST_NUMBER, "max_value": LARGEST_NUMBER}
        super().__init__(required=False, allow_null=True, default=None, **bounds | kwargs)


class PlacementWhatIfSerializer(Form[dict[str, Any]]):
    """Read what to change of the snapshot; what is left out or null stays as it was frozen."""

    rate_per_s = Positive(
        help_text="What the publishers send together; each sends the same part of it as before."
    )
    token_rate_per_s = Positive()
    bucket = Positive(min_value=1, help_text="Messages that the topic may send at once.")
    batch = serializers.IntegerField(
        required=False, allow_null=True, default=None, min_value=1, max_value=MOST_BATCH
    )
    group_size = serializers.IntegerField(
        required=False,
        allow_null=True,
        default=None,
        min_value=1,
        max_value=MOST_GROUP,
        help_text="Publishers that send at the same moment: those with a correlation key are "
        "divided anew into groups of this size.",
    )
    slo_p99_s = Positive(help_text="Target of the 99th percentile, s.")
    slo_mean_s = Positive(help_text="Target of the mean, s.")
    drained_brokers = serializers.ListField(
        child=serializers.CharField(max_length=200),
        required=False,
        allow_null=True,
        default=None,
        max_length=1000,
        help_text="Names of brokers that are drained, instead of those that were.",
    )
    added_brokers = serializers.IntegerField(
        required=False,
        default=0,
        min_value=0,
        max_value=MOST_ADDED,
        help_text="Further brokers, each like the largest, with no other topic.",
    )


def _parameter(name: str) -> Amount:
    """Return a field for a parameter by which parts follow the traffic, as the kernel describes
    it."""
    row = next(row for row in describe(Params) if row["name"] == name)
    return Amount(
        required=False,
        default=row["default"],
        min_value=row["minimum"],
        max_value=row["maximum"],
        help_text=f"{row['help']}.",
    )


class AdaptationOrderSerializer(Form[dict[str, Any]]):
    """Read how the parts of the bucket follow the traffic."""

    window_s = _parameter("window_s")
    period_s = _parameter("period_s")
    least_share = _parameter("least_share")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["period_s"] > attrs["window_s"]:
            raise serializers.ValidationError(
                {
                    "period_s": f"At most the history that decides, {attrs['window_s']:g} s: what "
                    "was measured before would be left out."
                }
            )
        return attrs


class PlacementPlanRequestSerializer(Form[dict[str, Any]]):
    """Read the title of the plan, what brokers do with their parts of the bucket, and whether these
    follow the traffic."""

    title = serializers.CharField(required=False, allow_blank=True, default="", max_length=200)
    mode = serializers.ChoiceField(
        choices=PART_MODES,
        required=False,
        default=ENFORCE,
    )
    adaptation = AdaptationOrderSerializer(
        required=False,
        allow_null=True,
        help_text="How rate and size move between the parts by what agents measure once the plan "
        "is carried out; their sums stay. Null: parts stay as the plan has them, and an adaptation "
        "in force ends. Left out: one in force goes on over the placement's brokers; with mode "
        "`count` it ends, as parts that are only counted hold nothing.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["mode"] == COUNT and attrs.get("adaptation") is not None:
            raise serializers.ValidationError(
                {"adaptation": "Parts that are only counted hold nothing, so none are adapted."}
            )
        return attrs


class PlacementAgainSerializer(Form[dict[str, Any]]):
    """Read why the topic is placed again."""

    note = serializers.CharField(
        required=False, allow_blank=True, default="", max_length=2000, help_text="Why."
    )


class PlacementSerializer(serializers.ModelSerializer[Placement]):
    """Describe a placement without each broker's part."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    name = serializers.CharField(source="__str__", read_only=True, help_text="Such as `L-3`.")
    system = serializers.UUIDField(source="system.public_id", read_only=True)
    system_name = serializers.CharField(source="system.name", read_only=True)
    topic = serializers.UUIDField(
        source="topic.public_id",
        read_only=True,
        allow_null=True,
        default=None,
        help_text="Null: the topic was deleted since.",
    )
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
        model = Placement
        fields = [
            "id",
            "name",
            "number",
            "system",
            "system_name",
            "topic",
            "topic_name",
            "method",
            "run",
            "run_number",
            "brokers",
            "publishers",
            "moved",
            "p99_s",
            "processing_p99_s",
            "penalty_s",
            "mean_s",
            "slo_p99_s",
            "slo_mean_s",
            "meets",
            "round",
            "asked_by",
            "asked_by_id",
            "created_at",
            "updated_at",
            "allowed_commands",
        ]
        read_only_fields = fields
        extra_kwargs: ClassVar = {"round": {"help_text": ROUND}}

    @extend_schema_field(command_list(PLACEMENT_COMMANDS))
    def get_allowed_commands(self, placement: Placement) -> list[str]:
        commands = RunSerializer(context=self.context).get_allowed_commands(placement.run)
        request = self.context.get("request")
        if request is not None and Permission.START_RUN in granted(request):
            commands = [*commands, "what_if", "again"]
        if request is not None and Permission.PROPOSE_PLAN in granted(request):
            commands = [*commands, "plan"]
        return commands


class PlacementDetailSerializer(PlacementSerializer):
    """Describe a placement with what each number of brokers would bring, and each broker's part."""

    model_version = serializers.IntegerField(source="run.snapshot.model_version", read_only=True)
    snapshot_hash = serializers.CharField(source="run.snapshot.content_hash", read_only=True)
    seed = serializers.IntegerField(source="run.seed", read_only=True)
    parameters = serializers.DictField(source="run.parameters", read_only=True)
    drained_brokers = serializers.ListField(
        child=serializers.CharField(),
        read_only=True,
        help_text="Names of brokers that shall serve nobody of the topic.",
    )
    based_on = ComputedSerializer(
        read_only=True,
        allow_null=True,
        help_text="The placement that was measured and that this one is made by; null: none.",
    )
    outcome = PlacementOutcomeSerializer(read_only=True)

    class Meta(PlacementSerializer.Meta):
        fields = [
            *PlacementSerializer.Meta.fields,
            "model_version",
            "snapshot_hash",
            "seed",
            "parameters",
            "drained_brokers",
            "note",
            "based_on",
            "outcome",
        ]
        read_only_fields = fields


class NameOrNull(serializers.CharField):
    """Show an empty text as null."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(read_only=True, allow_null=True, **kwargs)

    def to_representation(self, value: Any) -> Any:
        return super().to_representation(value) or None


class PlacementMoveSerializer(serializers.ModelSerializer[Move]):
    """Describe a publisher that changes its broker, or gets one."""

    group = NameOrNull(help_text="Its correlation key; null: it sends on its own.")
    from_broker = NameOrNull(
        help_text="Null: it has no broker today, or one without a publish rate."
    )

    class Meta:
        model = Move
        fields = [
            "publisher",
            "group",
            "rate_per_s",
            "from_broker",
            "to_broker",
            "must_move",
            "p99_without_s",
        ]
        read_only_fields = fields


class PartSerializer(serializers.Serializer[MeasuredPart]):
    """Describe a broker's part of the topic's bucket that is in force, with what is measured."""

    broker = serializers.CharField()
    rate_per_s = serializers.FloatField(help_text="Tokens per second; 0: nothing may enter there.")
    size = serializers.FloatField(help_text="Tokens that the part holds.")
    mode = serializers.ChoiceField(choices=PART_MODES)
    passed_per_s = serializers.FloatField(
        allow_null=True, help_text="Messages that passed; null: nothing is measured now."
    )
    waiting = serializers.IntegerField(
        allow_null=True, help_text="Messages that wait at the broker's gate."
    )
    messages = serializers.IntegerField(
        allow_null=True,
        help_text="Messages counted since the part is only counted; null: it is enforced, or "
        "nothing is measured.",
    )
    held = serializers.IntegerField(
        allow_null=True, help_text="How many of them the part would have held."
    )
    p99_s = serializers.FloatField(
        allow_null=True,
        help_text="What 99 % of them would have waited at most, 5 % too long at worst.",
    )
    longest_s = serializers.FloatField(allow_null=True, help_text="The longest such wait.")
    wait_messages = serializers.IntegerField(
        allow_null=True,
        help_text="Messages that left through the gate of an enforced part in the last minute; "
        "null: the part is only counted, or none left.",
    )
    wait_p99_s = serializers.FloatField(
        allow_null=True,
        help_text="What 99 % of them really waited at most, from their arrival at the broker, 5 % "
        "too long at worst.",
    )
    publishers = serializers.IntegerField(
        allow_null=True, help_text="Publishers that the broker lets in; null: it has no list."
    )


class RoundSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe one placement of a line of rounds: what it predicted, and what was measured."""

    placement = serializers.UUIDField()
    name = serializers.CharField(help_text="Such as `L-3`.")
    round = serializers.IntegerField(help_text=ROUND)
    created_at = serializers.DateTimeField()
    brokers = serializers.IntegerField(help_text="Brokers that serve publishers of the topic.")
    moved = serializers.IntegerField(help_text=MOVED)
    predicted_p99_s = serializers.FloatField(allow_null=True, help_text=P99)
    slo_p99_s = serializers.FloatField(
        allow_null=True, help_text="Target of the 99th percentile at that time, s; null: none."
    )
    predicted_mean_s = serializers.FloatField(allow_null=True, help_text=MEAN)
    slo_mean_s = serializers.FloatField(
        allow_null=True, help_text="Target of the mean at that time, s; null: none."
    )
    is_in_force = serializers.BooleanField(
        help_text="Whether brokers enforce its parts and let in its publishers; the latest of "
        "those that do."
    )
    measured = MeasuredPlacementSerializer(
        allow_null=True,
        help_text="Of the placement in force: as of now. Of others: what the next one was made "
        "by. Null: nothing.",
    )


class PlacementMethodSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe a method with its parameters."""

    name = serializers.CharField()
    is_default = serializers.BooleanField(
        help_text="Whether a request without a method gets this one."
    )
    title = serializers.CharField()
    summary = serializers.CharField()
    parameters = ParameterDescriptionSerializer(many=True)
