"""Store how measured demand is used, and each estimate of it that was.

Estimates never change and are numbered within their system: a snapshot names the one that it was
made with, as it names the version of the model.
"""

from django.db import models
from django.db.models import F, Q

from apps.common.models import BaseModel
from apps.demand.domain.wanted import Basis, Subject, Terms
from apps.systems.models import System

LEAST_MINUTES = 5
MOST_MINUTES = 120
MOST_HOURS = 24

BASES = [(each.value, each.value.capitalize()) for each in Basis]
SUBJECTS = [(each.value, each.value.capitalize()) for each in Subject]
# Sorted, so that the constraints read the same in every process and need no new migration.
BASIS_NAMES = sorted(each.value for each in Basis)
SUBJECT_NAMES = sorted(each.value for each in Subject)


def sound_terms(prefix: str) -> list[models.BaseConstraint]:
    """Return the constraints of columns that settings and estimates share."""
    return [
        models.CheckConstraint(condition=Q(basis__in=BASIS_NAMES), name=f"{prefix}_basis_known"),
        models.CheckConstraint(
            condition=Q(level__gte=0.5, level__lte=1), name=f"{prefix}_level_from_half_to_1"
        ),
        models.CheckConstraint(
            condition=Q(floor_ratio__gte=0, floor_ratio__lte=1)
            & Q(ceiling_ratio__gte=1, ceiling_ratio__lte=1000),
            name=f"{prefix}_ratios_around_1",
        ),
    ]


class DemandTerms(BaseModel):
    """Give a row the terms on which measured demand is used."""

    basis = models.CharField(
        max_length=16,
        choices=BASES,
        default=Basis.TYPED.value,
        help_text="Whose figures snapshots use: the model's, measured, forecast, or the largest.",
    )
    level = models.FloatField(
        default=0.9, help_text="Share of the measured minutes in which the demand shall be enough."
    )
    floor_ratio = models.FloatField(
        default=0.1, help_text="Measured demand counts at least this share of the model's figure."
    )
    ceiling_ratio = models.FloatField(
        default=10.0, help_text="Measured demand counts at most this multiple of it."
    )

    class Meta:
        abstract = True

    @property
    def terms(self) -> Terms:
        """Return the terms as the rules take them."""
        return Terms(
            basis=Basis(self.basis),
            level=self.level,
            floor_ratio=self.floor_ratio,
            ceiling_ratio=self.ceiling_ratio,
        )


class DemandSettings(DemandTerms):
    """Store how measured demand is used; the model alone counts until somebody changes that."""

    system = models.OneToOneField(System, on_delete=models.CASCADE, related_name="demand")
    window_minutes = models.PositiveIntegerField(
        default=15, help_text="Minutes over which demand is measured."
    )
    horizon_hours = models.PositiveIntegerField(
        default=1, help_text="Hours until which a forecast shall be enough."
    )
    least_change = models.FloatField(
        default=0.05,
        help_text="Change of a topic's or class's demand from which on there is a new estimate, "
        "as a share of the larger figure.",
    )
    version = models.PositiveIntegerField(default=1, editable=False)

    class Meta:
        verbose_name_plural = "demand settings"
        constraints = [
            *sound_terms("demand_settings"),
            models.CheckConstraint(
                condition=Q(window_minutes__gte=LEAST_MINUTES, window_minutes__lte=MOST_MINUTES),
                name="demand_settings_window_of_5_to_120_minutes",
            ),
            models.CheckConstraint(
                condition=Q(horizon_hours__gte=1, horizon_hours__lte=MOST_HOURS),
                name="demand_settings_horizon_of_1_to_24_hours",
            ),
            models.CheckConstraint(
                condition=Q(least_change__gte=0.001, least_change__lte=1),
                name="demand_settings_least_change_sound",
            ),
        ]

    def __str__(self) -> str:
        return f"demand of {self.system}"


class DemandEstimate(DemandTerms):
    """Store what snapshots take for the demand of a system from one moment to the next
    estimate."""

    system = models.ForeignKey(System, on_delete=models.CASCADE, related_name="demand_estimates")
    number = models.PositiveIntegerField()
    since = models.DateTimeField()
    until = models.DateTimeField()
    largest_change = models.FloatField(
        help_text="Of what is used of a topic or class, as a share of the larger figure."
    )
    because = models.TextField()

    class Meta:
        ordering = ["-id"]
        constraints = [
            *sound_terms("demand_estimate"),
            models.UniqueConstraint(
                fields=["system", "number"], name="demand_estimate_number_once_per_system"
            ),
        ]

    def __str__(self) -> str:
        return f"E-{self.number}"


class DemandFigure(models.Model):
    """Store what was measured of a topic or class, and what is used of it."""

    estimate = models.ForeignKey(DemandEstimate, on_delete=models.CASCADE, related_name="figures")
    subject = models.CharField(max_length=8, choices=SUBJECTS)
    name = models.CharField(max_length=200)
    minutes = models.PositiveIntegerField(help_text="In how many minutes it was measured.")
    low = models.FloatField(null=True)
    mean = models.FloatField(null=True)
    high = models.FloatField(null=True, help_text="Measured; null: it never was.")
    forecast = models.FloatField(null=True, help_text="Enough until the horizon; null: unknown.")
    typed = models.FloatField(help_text="The model's figure when the estimate was made.")
    used = models.FloatField(help_text="What snapshots took then.")

    class Meta:
        ordering = ["subject", "name"]
        constraints = [
            models.UniqueConstraint(
                fields=["estimate", "subject", "name"], name="demand_figure_once_per_subject"
            ),
            models.CheckConstraint(
                condition=Q(subject__in=SUBJECT_NAMES), name="demand_figure_subject_known"
            ),
            models.CheckConstraint(
                condition=Q(low=None, mean=None, high=None) | Q(low__gte=0, low__lte=F("high")),
                name="demand_figure_interval_sound",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.subject} {self.name}: {self.high}"
