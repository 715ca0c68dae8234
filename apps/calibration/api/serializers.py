"""Describe fits, corrections, bounds and settings over the REST API."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.accounts.api.permissions import granted
from apps.accounts.domain.roles import Permission
from apps.calibration.models import (
    CalibrationSettings,
    Coefficient,
    Correction,
    Fit,
    FitCase,
    LatencyBound,
)
from apps.common.api.fields import EDIT_ONLY, Amount, choices, command_list
from apps.common.api.forms import Form, ModelForm
from apps.systems.api.entities import SystemReference
from weir.lifecycle.fits import FITS, FitCommand, FitState

FRESH_S = 30.0

COEFFICIENT_KINDS = choices("idle", "flow", "class")


class CoefficientSerializer(serializers.ModelSerializer[Coefficient]):
    """Describe one fitted number with its 95 % interval."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    kind = serializers.ChoiceField(choices=COEFFICIENT_KINDS, read_only=True)

    class Meta:
        model = Coefficient
        fields = [
            "id",
            "kind",
            "name",
            "flow",
            "old",
            "value",
            "low",
            "high",
            "vif",
            "identified",
            "applied",
        ]
        read_only_fields = fields
        extra_kwargs = {
            "low": {"help_text": "Lower end of the 95 % interval."},
            "high": {"help_text": "Upper end; null: the measurements say nothing."},
            "vif": {"help_text": "Variance inflation by the other terms; null: infinite."},
            "identified": {"help_text": "The interval is no wider than the value."},
        }


class FitPointSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe the load in one window, in units of the resource per second."""

    measured = serializers.FloatField()
    fitted = serializers.FloatField()
    before = serializers.FloatField(help_text="By the coefficients the model held then.")


class TermSerializer(serializers.Serializer[dict[str, Any]]):
    """Identify a coefficient by its kind and name."""

    kind = serializers.ChoiceField(choices=COEFFICIENT_KINDS)
    name = serializers.CharField()


class FitAdviceSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe an operating point that was not measured, and what it would show."""

    flow = serializers.CharField()
    rate_per_s = serializers.FloatField()
    consumer_class = serializers.CharField(allow_blank=True)
    consumers = serializers.IntegerField()
    tells = TermSerializer(many=True)
    sentence = serializers.CharField()


class FitCaseSerializer(serializers.ModelSerializer[FitCase]):
    """Describe one broker and resource of a fit."""

    measure = serializers.ChoiceField(choices=["cpu", "storage", "network"], read_only=True)
    coefficients = CoefficientSerializer(many=True, read_only=True)
    scatter = FitPointSerializer(many=True, read_only=True)
    advice = FitAdviceSerializer(many=True, read_only=True)

    class Meta:
        model = FitCase
        fields = [
            "broker",
            "resource",
            "measure",
            "capacity",
            "points",
            "enough",
            "condition",
            "r_squared",
            "residual_sd",
            "coefficients",
            "scatter",
            "advice",
        ]
        read_only_fields = fields


FIT_COMMANDS = choices(*FitCommand)


class FitSerializer(serializers.ModelSerializer[Fit]):
    """Describe a fit as lists show it."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    name = serializers.CharField(source="__str__", read_only=True)
    system = serializers.UUIDField(source="system.public_id", read_only=True)
    system_name = serializers.CharField(source="system.name", read_only=True)
    run = serializers.UUIDField(source="run.public_id", read_only=True)
    run_name = serializers.CharField(source="run", read_only=True)
    decided_by_id = serializers.UUIDField(
        source="decided_by.public_id", read_only=True, allow_null=True, default=None
    )
    decided_by = serializers.CharField(
        source="decided_by.display_name", read_only=True, allow_null=True, default=None
    )
    coefficient_count = serializers.IntegerField(read_only=True)
    identified_count = serializers.IntegerField(read_only=True)
    applied_count = serializers.IntegerField(read_only=True)
    updated_at = serializers.DateTimeField(source="changed_at", read_only=True)
    allowed_commands = serializers.SerializerMethodField()

    class Meta:
        model = Fit
        fields = [
            "id",
            "name",
            "number",
            "system",
            "system_name",
            "run",
            "run_name",
            "state",
            "since",
            "until",
            "window_s",
            "coefficient_count",
            "identified_count",
            "applied_count",
            "decided_by",
            "decided_by_id",
            "decided_at",
            "created_at",
            "updated_at",
            "version",
            "allowed_commands",
        ]
        read_only_fields = fields

    @extend_schema_field(command_list(FIT_COMMANDS))
    def get_allowed_commands(self, fit: Fit) -> list[str]:
        request = self.context.get("request")
        if request is None or Permission.EDIT_MODEL not in granted(request):
            return []
        return [command.value for command in FITS.table[FitState(fit.state)]]


class FitDetailSerializer(FitSerializer):
    """Describe a fit with all its results."""

    cases = FitCaseSerializer(many=True, read_only=True)

    class Meta(FitSerializer.Meta):
        fields = [*FitSerializer.Meta.fields, "cases"]
        read_only_fields = fields


class FitRequestSerializer(Form[dict[str, Any]]):
    """Read what to fit: samples, which are kept for half an hour, or sums by minute."""

    system = SystemReference()
    minutes = Amount(
        default=30.0,
        min_value=0.5,
        max_value=31 * 24 * 60.0,
        help_text="How far back. More than 30: sums by minute of records, not samples.",
    )
    window_s = Amount(
        default=None,
        allow_null=True,
        min_value=1.0,
        max_value=86_400.0,
        help_text=(
            "Loads are means over this time, s. Left out: 10; of sums by minute, as many whole "
            "minutes as make 1,440 windows at most."
        ),
    )
    engine = serializers.ChoiceField(
        choices=["local", "spark"],
        default=None,
        allow_null=True,
        help_text="Left out: chosen by the number of samples; both give the same answer.",
    )


class FitDecisionSerializer(Form[dict[str, Any]]):
    """Read the reason of a decision."""

    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=500)


class FitApplySerializer(FitDecisionSerializer):
    """Read which coefficients to write into the model."""

    coefficients = serializers.ListField(
        child=serializers.UUIDField(), min_length=1, max_length=10_000
    )


class CorrectionSerializer(serializers.ModelSerializer[Correction]):
    """Compare measured and predicted load of one broker and resource."""

    broker = serializers.UUIDField(source="broker.public_id", read_only=True)
    broker_name = serializers.CharField(source="broker.name", read_only=True)
    clamped = serializers.ChoiceField(choices=["", "low", "high"], read_only=True)
    stale = serializers.SerializerMethodField()

    class Meta:
        model = Correction
        fields = [
            "broker",
            "broker_name",
            "resource",
            "ratio",
            "factor",
            "clamped",
            "measured",
            "predicted",
            "at",
            "stale",
        ]
        read_only_fields = fields

    def get_stale(self, row: Correction) -> bool:
        return (timezone.now() - row.at).total_seconds() > FRESH_S


class LatencyBoundSerializer(serializers.ModelSerializer[LatencyBound]):
    """Describe what the producers of a reliable topic can send at most."""

    topic = serializers.UUIDField(source="topic.public_id", read_only=True)
    topic_name = serializers.CharField(source="topic.name", read_only=True)
    rate_max_per_s = serializers.FloatField(source="topic.rate_max_per_s", read_only=True)
    stale = serializers.SerializerMethodField()

    class Meta:
        model = LatencyBound
        fields = [
            "topic",
            "topic_name",
            "rate_max_per_s",
            "ack_s",
            "producers",
            "bound_per_s",
            "at",
            "stale",
        ]
        read_only_fields = fields

    def get_stale(self, row: LatencyBound) -> bool:
        return (timezone.now() - row.at).total_seconds() > FRESH_S


class CalibrationSettingsSerializer(ModelForm[CalibrationSettings]):
    """Describe how far measurements may correct a system's model."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    system = serializers.UUIDField(source="system.public_id", read_only=True)
    system_name = serializers.CharField(source="system.name", read_only=True)
    factor_min = Amount(required=False, min_value=0.01, max_value=1)
    factor_max = Amount(required=False, min_value=1, max_value=100)
    smoothing = Amount(required=False, min_value=0.01, max_value=1)
    cores = Amount(required=False, allow_null=True, min_value=0.01, max_value=100_000)
    messages_per_transaction = Amount(required=False, min_value=0.001, max_value=1e6)
    allowed_commands = serializers.SerializerMethodField()
    reason = serializers.CharField(
        write_only=True, required=False, allow_blank=True, max_length=500
    )

    class Meta:
        model = CalibrationSettings
        fields = [
            "id",
            "system",
            "system_name",
            "correct_errors",
            "bound_latency",
            "factor_min",
            "factor_max",
            "smoothing",
            "cores",
            "messages_per_transaction",
            "version",
            "updated_at",
            "allowed_commands",
            "reason",
        ]
        read_only_fields = ["version", "updated_at"]

    @extend_schema_field(command_list(EDIT_ONLY))
    def get_allowed_commands(self, row: CalibrationSettings) -> list[str]:
        request = self.context.get("request")
        may = request is not None and Permission.EDIT_MODEL in granted(request)
        return ["edit"] if may else []


class CalibrationStateSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe what is in force between two fits."""

    corrections = CorrectionSerializer(many=True)
    latency_bounds = LatencyBoundSerializer(many=True)
