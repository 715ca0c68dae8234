"""Shape forecasts of demand for the REST API."""

from typing import Any

from rest_framework import serializers

from apps.common.api.forms import Form
from apps.demand.models import SUBJECTS
from apps.forecasts.models import Forecast, ForecastSeries
from apps.systems.api.entities import SystemReference

MOST_SERIES = 1000
UNIT = "msg/s of a topic, consumers of a class"


class ForecastSerializer(serializers.ModelSerializer[Forecast]):
    """Describe a forecast as lists show it."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    name = serializers.CharField(source="__str__", read_only=True)
    system = serializers.UUIDField(source="system.public_id", read_only=True)
    system_name = serializers.CharField(source="system.name", read_only=True)
    run = serializers.UUIDField(source="run.public_id", read_only=True)
    run_name = serializers.CharField(source="run", read_only=True)
    series_count = serializers.IntegerField(
        read_only=True, help_text="Topics and classes of which it tells something."
    )
    updated_at = serializers.DateTimeField(source="changed_at", read_only=True)

    class Meta:
        model = Forecast
        fields = [
            "id",
            "name",
            "number",
            "system",
            "system_name",
            "run",
            "run_name",
            "first_at",
            "hours",
            "measured_since",
            "level",
            "series_count",
            "created_at",
            "updated_at",
        ]
        read_only_fields = fields
        extra_kwargs = {
            "hours": {"help_text": "How many hours it tells of."},
            "measured_since": {"help_text": "When the first hour began that it goes by."},
        }


class ForecastSeriesSerializer(serializers.ModelSerializer[ForecastSeries]):
    """Describe what is expected of a topic or class, hour by hour."""

    subject = serializers.ChoiceField(choices=SUBJECTS, read_only=True)

    class Meta:
        model = ForecastSeries
        fields = ["subject", "name", "season", "error", "reason", "mean", "low", "high"]
        read_only_fields = fields
        extra_kwargs = {
            "mean": {"help_text": f"Expected in each hour: {UNIT}."},
            "low": {"help_text": f"More than this with the probability of the level: {UNIT}."},
            "high": {"help_text": f"Enough with the probability of the level: {UNIT}."},
        }


class ForecastDetailSerializer(ForecastSerializer):
    """Describe a forecast with its series."""

    series = ForecastSeriesSerializer(
        many=True, read_only=True, help_text=f"By subject and name, {MOST_SERIES:,} at most."
    )

    class Meta(ForecastSerializer.Meta):
        fields = [*ForecastSerializer.Meta.fields, "series"]
        read_only_fields = fields


class ForecastRequestSerializer(Form[dict[str, Any]]):
    """Read whose demand shall be forecast."""

    system = SystemReference()
    engine = serializers.ChoiceField(
        choices=["local", "spark"],
        default=None,
        allow_null=True,
        help_text="Left out: chosen by the number of topics and classes; both give the same "
        "answer.",
    )
