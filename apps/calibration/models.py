"""Store fits with their coefficients, error corrections in force, latency bounds, and settings."""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from apps.catalog.models import Topic
from apps.common.models import BaseModel
from apps.runs.models import Computed
from apps.systems.models import System
from apps.topology.models import Broker
from weir.lifecycle.fits import FitState

FIT_STATES = [(state.value, state.value.capitalize()) for state in FitState]


class CalibrationSettings(BaseModel):
    """Store how far measurements may correct a system's model; off until somebody switches it
    on."""

    system = models.OneToOneField(System, on_delete=models.CASCADE, related_name="calibration")
    correct_errors = models.BooleanField(
        default=False, help_text="Snapshots scale costs by measured over predicted load."
    )
    bound_latency = models.BooleanField(
        default=False, help_text="Snapshots cap reliable flows at what their producers can send."
    )
    factor_min = models.FloatField(default=0.5)
    factor_max = models.FloatField(default=2.0)
    smoothing = models.FloatField(default=0.2, help_text="Weight of the newest ratio, up to 1.")
    cores = models.FloatField(
        null=True, blank=True, help_text="Cores that a broker's capacity means; null: as reported."
    )
    messages_per_transaction = models.FloatField(
        default=1.0, help_text="Messages that a reliable producer sends per acknowledgement."
    )
    version = models.PositiveIntegerField(default=1, editable=False)

    class Meta:
        verbose_name_plural = "calibration settings"
        constraints = [
            models.CheckConstraint(
                condition=Q(factor_min__gt=0, factor_min__lte=1)
                & Q(factor_max__gte=1, factor_max__lte=100),
                name="calibration_factors_around_1",
            ),
            models.CheckConstraint(
                condition=Q(smoothing__gt=0, smoothing__lte=1),
                name="calibration_smoothing_above_0_at_most_1",
            ),
            models.CheckConstraint(
                condition=Q(cores=None) | Q(cores__gt=0, cores__lt=1e6),
                name="calibration_cores_positive",
            ),
            models.CheckConstraint(
                condition=Q(messages_per_transaction__gt=0, messages_per_transaction__lt=1e9),
                name="calibration_messages_per_transaction_positive",
            ),
        ]

    def __str__(self) -> str:
        return f"calibration of {self.system}"


class Fit(Computed):
    """Store what one run found in the telemetry of a time; numbered within its system."""

    LETTER = "F"

    system = models.ForeignKey(System, on_delete=models.CASCADE, related_name="fits")
    state = models.CharField(max_length=16, choices=FIT_STATES, default=FitState.PROPOSED)
    since = models.DateTimeField()
    until = models.DateTimeField()
    window_s = models.FloatField()
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    decided_at = models.DateTimeField(null=True)
    version = models.PositiveIntegerField(default=1, editable=False)

    class Meta(Computed.Meta):
        constraints = [
            models.UniqueConstraint(fields=["system", "number"], name="fit_number_once_per_system"),
            models.CheckConstraint(
                condition=Q(state__in=[state for state, _ in FIT_STATES]), name="fit_state_known"
            ),
            models.CheckConstraint(
                condition=Q(state=FitState.PROPOSED.value, decided_at=None)
                | Q(~Q(state=FitState.PROPOSED.value), decided_at__isnull=False),
                name="fit_decided_has_a_time",
            ),
        ]


class FitCase(models.Model):
    """Store one broker and resource of a fit: how good it is, and what was not measured yet."""

    fit = models.ForeignKey(Fit, on_delete=models.CASCADE, related_name="cases")
    broker = models.CharField(max_length=200)
    resource = models.CharField(max_length=32)
    measure = models.CharField(max_length=16)
    capacity = models.FloatField()
    points = models.PositiveIntegerField()
    enough = models.BooleanField()
    condition = models.FloatField(null=True)
    r_squared = models.FloatField(null=True)
    residual_sd = models.FloatField(null=True)
    scatter: "models.JSONField[Any, Any]" = models.JSONField(default=list)
    advice: "models.JSONField[Any, Any]" = models.JSONField(default=list)

    class Meta:
        ordering = ["broker", "resource"]
        constraints = [
            models.UniqueConstraint(
                fields=["fit", "broker", "resource"], name="fit_case_once_per_resource"
            )
        ]

    def __str__(self) -> str:
        return f"{self.fit} {self.broker} {self.resource}"


class Coefficient(BaseModel):
    """Store work per message (flow), per message and consumer (class), or per second (idle)."""

    case = models.ForeignKey(FitCase, on_delete=models.CASCADE, related_name="coefficients")
    kind = models.CharField(max_length=8)
    name = models.CharField(max_length=200, blank=True)
    flow = models.CharField(max_length=200, blank=True)
    old = models.FloatField(null=True, help_text="In the model when the telemetry was read.")
    value = models.FloatField()
    low = models.FloatField()
    high = models.FloatField(null=True)
    vif = models.FloatField(null=True)
    identified = models.BooleanField()
    applied = models.BooleanField(default=False)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["case", "kind", "name"], name="coefficient_once_per_case"
            ),
            models.CheckConstraint(
                condition=Q(value__gte=0, low__gte=0) & Q(low__lte=models.F("value")),
                name="coefficient_not_negative_and_in_its_interval",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name} {self.value}"


class Correction(models.Model):
    """Store measured over predicted load of one broker and resource, as of now."""

    broker = models.ForeignKey(Broker, on_delete=models.CASCADE, related_name="corrections")
    resource = models.CharField(max_length=32)
    ratio = models.FloatField(default=1.0)
    factor = models.FloatField(default=1.0)
    clamped = models.CharField(max_length=8, blank=True)
    measured = models.FloatField(default=0.0)
    predicted = models.FloatField(default=0.0)
    at = models.DateTimeField()

    class Meta:
        ordering = ["broker__name", "resource"]
        constraints = [
            models.UniqueConstraint(
                fields=["broker", "resource"], name="correction_once_per_resource"
            ),
            models.CheckConstraint(condition=Q(factor__gt=0), name="correction_factor_positive"),
        ]

    def __str__(self) -> str:
        return f"{self.broker} {self.resource} x {self.factor:.2f}"


class LatencyBound(models.Model):
    """Store what the producers of a reliable topic can send at most, waiting for
    acknowledgements."""

    topic = models.OneToOneField(Topic, on_delete=models.CASCADE, related_name="latency_bound")
    ack_s = models.FloatField()
    producers = models.PositiveIntegerField()
    bound_per_s = models.FloatField(null=True)
    at = models.DateTimeField()

    class Meta:
        ordering = ["topic__name"]
        constraints = [
            models.CheckConstraint(
                condition=Q(bound_per_s=None) | Q(bound_per_s__gt=0),
                name="latency_bound_positive",
            )
        ]

    def __str__(self) -> str:
        return f"{self.topic} at most {self.bound_per_s} msg/s"
