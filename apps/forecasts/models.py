"""Store forecasts of demand, a series of hours for each topic and class."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from apps.demand.models import SUBJECT_NAMES, SUBJECTS
from apps.runs.models import Computed
from apps.systems.models import System


class Forecast(Computed):
    """Store what one run expects of the hours to come; numbered within its system."""

    LETTER = "D"

    system = models.ForeignKey(System, on_delete=models.CASCADE, related_name="forecasts")
    first_at = models.DateTimeField(help_text="When its first hour begins.")
    hours = models.PositiveIntegerField()
    measured_since = models.DateTimeField()
    level = models.FloatField(help_text="Probability with which `high` is enough.")

    class Meta(Computed.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["system", "number"], name="forecast_number_once_per_system"
            )
        ]


class ForecastSeries(models.Model):
    """Store what is expected of a topic, msg/s, or of a class, consumers, hour by hour."""

    forecast = models.ForeignKey(Forecast, on_delete=models.CASCADE, related_name="series")
    subject = models.CharField(max_length=8, choices=SUBJECTS)
    name = models.CharField(max_length=200)
    season = models.PositiveSmallIntegerField(null=True, help_text="Hours: a day or a week.")
    error = models.FloatField(
        null=True, help_text="Median relative error an hour ahead, in the last week."
    )
    reason = models.TextField(blank=True, help_text="Why nothing can be told; else empty.")
    mean: "ArrayField[list[float], list[float]]" = ArrayField(models.FloatField(), default=list)
    low: "ArrayField[list[float], list[float]]" = ArrayField(models.FloatField(), default=list)
    high: "ArrayField[list[float], list[float]]" = ArrayField(models.FloatField(), default=list)

    class Meta:
        ordering = ["subject", "name"]
        constraints = [
            models.UniqueConstraint(
                fields=["forecast", "subject", "name"], name="forecast_series_once_per_subject"
            ),
            models.CheckConstraint(
                condition=Q(subject__in=SUBJECT_NAMES), name="forecast_series_subject_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.subject} {self.name}"
