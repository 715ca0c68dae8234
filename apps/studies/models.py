"""Store studies and their points; the run holds a study's progress."""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q

from apps.allocations.models import Allocation
from apps.runs.models import Computed
from apps.systems.models import System


class StudyKind(models.TextChoices):
    """Name what a study varies."""

    SWEEP = "sweep", "Sweep"
    SCHEDULE = "schedule", "Schedule"


class Study(Computed):
    """Store a question to a frozen model: which scenarios, solved with which methods."""

    LETTER = "W"
    LARGE = ("spec",)

    system = models.ForeignKey(System, on_delete=models.CASCADE, related_name="studies")
    name = models.CharField(max_length=200)
    kind = models.CharField(max_length=16, choices=StudyKind)
    spec: "models.JSONField[Any, Any]" = models.JSONField()
    allocation = models.ForeignKey(
        Allocation,
        on_delete=models.SET_NULL,
        null=True,
        related_name="studies",
        help_text="Whose snapshot is studied; none where the model was frozen for the study.",
    )
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    points_total = models.PositiveIntegerField()
    version = models.PositiveIntegerField(default=1)

    class Meta(Computed.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["system", "number"], name="study_number_once_per_system"
            ),
            models.CheckConstraint(
                condition=Q(kind__in=sorted(StudyKind.values)), name="study_kind_known"
            ),
            models.CheckConstraint(condition=Q(points_total__gte=1), name="study_has_points"),
        ]


class StudyPoint(models.Model):
    """Store the answer to one scenario with one method, or the reason why there is none."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="points")
    index = models.PositiveIntegerField(help_text="Position in the study.")
    label = models.CharField(max_length=1000)
    method = models.CharField(max_length=200)
    coordinates: "models.JSONField[Any, Any]" = models.JSONField(default=list)
    status = models.CharField(max_length=16)
    reason = models.TextField(blank=True)
    utility = models.FloatField(null=True)
    upper_bound = models.FloatField(null=True)
    gap = models.FloatField(null=True, help_text="Relative distance to the bound.")
    admitted = models.BigIntegerField(null=True)
    wanted = models.BigIntegerField(null=True)
    rate_average_per_s = models.FloatField(null=True)
    moved = models.BigIntegerField(
        null=True, help_text="Consumers changed since the segment before."
    )
    iterations = models.PositiveIntegerField()
    runtime_s = models.FloatField()
    quantities: "models.JSONField[Any, Any]" = models.JSONField(default=list)
    marginals: "models.JSONField[Any, Any]" = models.JSONField(default=list)
    prices: "models.JSONField[Any, Any]" = models.JSONField(default=list)
    groups: "models.JSONField[Any, Any]" = models.JSONField(default=list)
    division: "models.JSONField[Any, Any]" = models.JSONField(default=dict)
    rates: "models.JSONField[Any, Any]" = models.JSONField(null=True)

    class Meta:
        ordering = ["index"]
        constraints = [models.UniqueConstraint(fields=["study", "index"], name="study_point_once")]

    def __str__(self) -> str:
        return f"{self.study} {self.label} {self.method}"
