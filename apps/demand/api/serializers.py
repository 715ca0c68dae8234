"""Shape demand for the REST API."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.accounts.api.permissions import granted
from apps.accounts.domain.roles import Permission
from apps.common.api.fields import EDIT_ONLY, Amount, command_list
from apps.common.api.forms import Form, ModelForm
from apps.demand.models import (
    BASES,
    LEAST_MINUTES,
    MOST_HOURS,
    MOST_MINUTES,
    SUBJECTS,
    DemandEstimate,
    DemandFigure,
    DemandSettings,
)
from apps.systems.api.entities import SystemReference

MOST_ROWS = 1000
"""Topics and classes of an answer."""
UNIT = "msg/s of a topic, consumers of a class"


class DemandSettingsSerializer(ModelForm[DemandSettings]):
    """Describe how measured demand of a system is used."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    system = serializers.UUIDField(source="system.public_id", read_only=True)
    system_name = serializers.CharField(source="system.name", read_only=True)
    basis = serializers.ChoiceField(choices=BASES, required=False)
    window_minutes = serializers.IntegerField(
        required=False,
        min_value=LEAST_MINUTES,
        max_value=MOST_MINUTES,
        help_text="Minutes over which demand is measured.",
    )
    level = Amount(
        required=False,
        min_value=0.5,
        max_value=1,
        help_text="Share of the measured minutes in which the demand is enough.",
    )
    floor_ratio = Amount(
        required=False,
        max_value=1,
        help_text="Measured demand counts at least this share of the model's figure.",
    )
    ceiling_ratio = Amount(
        required=False,
        min_value=1,
        max_value=1000,
        help_text="Measured demand counts at most this multiple of the model's figure.",
    )
    horizon_hours = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_HOURS,
        help_text="Hours until which a forecast shall be enough.",
    )
    least_change = Amount(
        required=False,
        min_value=0.001,
        max_value=1,
        help_text="Change of what is used of a topic or class from which on there is a new "
        "estimate, as a share of the larger figure.",
    )
    allowed_commands = serializers.SerializerMethodField()
    reason = serializers.CharField(
        write_only=True, required=False, allow_blank=True, max_length=500
    )

    class Meta:
        model = DemandSettings
        fields = [
            "id",
            "system",
            "system_name",
            "basis",
            "window_minutes",
            "level",
            "floor_ratio",
            "ceiling_ratio",
            "horizon_hours",
            "least_change",
            "version",
            "updated_at",
            "allowed_commands",
            "reason",
        ]
        read_only_fields = ["version", "updated_at"]

    @extend_schema_field(command_list(EDIT_ONLY))
    def get_allowed_commands(self, row: DemandSettings) -> list[str]:
        request = self.context.get("request")
        may = request is not None and Permission.EDIT_MODEL in granted(request)
        return ["edit"] if may else []


class DemandEstimateSerializer(serializers.ModelSerializer[DemandEstimate]):
    """Describe an estimate of demand as lists show it."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    name = serializers.CharField(source="__str__", read_only=True)
    system = serializers.UUIDField(source="system.public_id", read_only=True)
    system_name = serializers.CharField(source="system.name", read_only=True)
    figure_count = serializers.IntegerField(
        read_only=True, help_text="How many topics and classes it has figures of."
    )

    class Meta:
        model = DemandEstimate
        fields = [
            "id",
            "name",
            "number",
            "system",
            "system_name",
            "basis",
            "level",
            "floor_ratio",
            "ceiling_ratio",
            "since",
            "until",
            "largest_change",
            "because",
            "figure_count",
            "created_at",
            "updated_at",
        ]
        read_only_fields = fields
        extra_kwargs = {
            "since": {"help_text": "When the minutes begin that it was measured in."},
            "until": {"help_text": "When they end."},
            "because": {"help_text": "Why there is a new estimate."},
        }


class DemandFigureSerializer(serializers.ModelSerializer[DemandFigure]):
    """Describe what an estimate says of a topic or class."""

    subject = serializers.ChoiceField(choices=SUBJECTS, read_only=True)

    class Meta:
        model = DemandFigure
        fields = ["subject", "name", "minutes", "low", "mean", "high", "forecast", "typed", "used"]
        read_only_fields = fields
        extra_kwargs = {
            "minutes": {
                "help_text": "In how many minutes it was measured; 0: in none, the figures are "
                "those of the estimate before."
            },
            "low": {"help_text": f"Wanted in most minutes at least: {UNIT}."},
            "mean": {"help_text": f"Mean of the minutes: {UNIT}."},
            "high": {"help_text": f"Enough in a share of the minutes, the level: {UNIT}."},
            "forecast": {"help_text": f"Enough until the horizon: {UNIT}; null: not known."},
            "typed": {"help_text": f"The model's figure then: {UNIT}."},
            "used": {"help_text": f"What snapshots took: {UNIT}."},
        }


class DemandEstimateDetailSerializer(DemandEstimateSerializer):
    """Describe an estimate with its figures."""

    figures = DemandFigureSerializer(
        many=True,
        read_only=True,
        help_text=f"By subject and name, {MOST_ROWS:,} at most.",
    )

    class Meta(DemandEstimateSerializer.Meta):
        fields = [*DemandEstimateSerializer.Meta.fields, "figures"]
        read_only_fields = fields


class DemandQuery(Form[dict[str, Any]]):
    """Read whose demand is shown."""

    system = SystemReference()
    search = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=200, help_text="Part of a name."
    )
    topic = serializers.UUIDField(
        required=False, help_text="This topic and its classes alone, by the topic's id."
    )


class WantedSerializer(serializers.Serializer[Any]):
    """Describe what is wanted of a topic or class now."""

    subject = serializers.ChoiceField(choices=SUBJECTS)
    id = serializers.UUIDField(source="public_id")
    name = serializers.CharField()
    topic = serializers.UUIDField()
    topic_name = serializers.CharField()
    broker = serializers.UUIDField(
        allow_null=True,
        help_text="Where a topic enters, or a class is admitted; null: not known.",
    )
    broker_name = serializers.CharField(help_text="Empty: not known.")
    least = serializers.FloatField(
        help_text="What a topic is promised at least, msg/s; 0 of a class."
    )
    typed = serializers.FloatField(help_text=f"The model's figure: {UNIT}.")
    minutes = serializers.IntegerField(
        source="measured.minutes",
        default=0,
        read_only=True,
        help_text="In how many minutes it was measured.",
    )
    low = serializers.FloatField(
        source="measured.low",
        default=None,
        read_only=True,
        allow_null=True,
        help_text=f"Wanted in most minutes at least: {UNIT}; null: not measured.",
    )
    mean = serializers.FloatField(
        source="measured.mean",
        default=None,
        read_only=True,
        allow_null=True,
        help_text=f"Mean of the minutes: {UNIT}; null: not measured.",
    )
    high = serializers.FloatField(
        source="measured.high",
        default=None,
        read_only=True,
        allow_null=True,
        help_text=f"Enough in a share of the minutes, the level: {UNIT}; null: not measured.",
    )
    counting = serializers.FloatField(
        allow_null=True,
        help_text=f"The measured figure that counts: `high`, or, where it was measured in too few "
        f"minutes, that of the last estimate: {UNIT}; null: there is none.",
    )
    forecast = serializers.FloatField(
        allow_null=True,
        help_text=f"Enough until the horizon of the settings: {UNIT}; null: not known.",
    )
    change = serializers.FloatField(
        help_text="By how much `high` differs from `typed`, as a share of the larger; 0 where "
        "nothing was measured."
    )
    would_use = serializers.FloatField(
        help_text=f"What snapshots would take if they went by what is known now: {UNIT}."
    )
    used = serializers.FloatField(help_text=f"What snapshots take: {UNIT}.")


class DemandSerializer(serializers.Serializer[Any]):
    """Describe the demand of a system now: the model's, the measured and the used."""

    system = serializers.UUIDField(source="settings.system.public_id")
    system_name = serializers.CharField(source="settings.system.name")
    basis = serializers.ChoiceField(source="settings.basis", choices=BASES)
    level = serializers.FloatField(
        source="settings.level", help_text="Share of the minutes in which `high` is enough."
    )
    estimate = serializers.UUIDField(
        source="estimate.public_id",
        default=None,
        read_only=True,
        allow_null=True,
        help_text="The estimate that snapshots are made with; null: they take the model's figures.",
    )
    estimate_name = serializers.CharField(
        source="estimate", read_only=True, default=None, allow_null=True
    )
    since = serializers.DateTimeField(help_text="When the measured minutes begin.")
    until = serializers.DateTimeField(help_text="When they end.")
    measured = serializers.IntegerField(help_text="How many topics and classes were measured.")
    count = serializers.IntegerField(
        help_text="How many there are, of those that `search` and `topic` leave."
    )
    rows = WantedSerializer(
        many=True, help_text=f"Those that differ most first, {MOST_ROWS:,} at most."
    )
