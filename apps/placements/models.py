"""Store placements: which broker shall serve which publisher of a topic."""

from typing import Any

from django.db import models
from django.db.models import F, Q

from apps.catalog.models import Topic, finite
from apps.runs.models import Computed
from apps.systems.models import System
from weir.model.placement import Objectives


class Placement(Computed):
    """Store one placement of a topic's publishers; numbered within its system."""

    LETTER = "L"
    LARGE = ("outcome",)

    system = models.ForeignKey(System, on_delete=models.CASCADE, related_name="placements")
    topic = models.ForeignKey(
        Topic, on_delete=models.SET_NULL, null=True, related_name="placements"
    )
    topic_name = models.CharField(max_length=200, help_text="The topic's name at that time.")
    method = models.CharField(max_length=64)
    brokers = models.PositiveIntegerField(help_text="Brokers that serve publishers of the topic.")
    publishers = models.PositiveIntegerField(help_text="Publishers with a rate.")
    moved = models.PositiveIntegerField(
        help_text="Publishers that change their broker, or get one."
    )
    p99_s = models.FloatField(
        null=True,
        help_text="What 1 % of the messages wait longer than, in token bucket and queue, s; null: "
        "it grows without bound.",
    )
    processing_p99_s = models.FloatField(
        null=True, help_text="The same without any token bucket, s; null: without bound."
    )
    penalty_s = models.FloatField(
        null=True, help_text="What the split bucket adds to the 99th percentile, s."
    )
    mean_s = models.FloatField(
        null=True,
        help_text="What messages wait on average, in token bucket and queue, s; null: it grows "
        "without bound, or the placement is older than this figure.",
    )
    slo_p99_s = models.FloatField(
        null=True, help_text="The topic's smallest target of that percentile, s; null: it has none."
    )
    slo_mean_s = models.FloatField(
        null=True, help_text="The topic's smallest target of the mean, s; null: it has none."
    )
    meets = models.BooleanField(
        null=True, help_text="Whether it meets all targets; null: there is none."
    )
    drained_brokers: "models.JSONField[Any, Any]" = models.JSONField(
        default=list, help_text="Names of brokers that shall serve nobody."
    )
    note = models.TextField(blank=True)
    based_on = models.ForeignKey(
        "self",
        on_delete=models.SET_NULL,
        null=True,
        related_name="followers",
        help_text="The placement that was in force while was measured what this one is made by.",
    )
    round = models.PositiveIntegerField(
        default=1, help_text="1, or one more than that of the placement that it is based on."
    )
    outcome: "models.JSONField[Any, Any]" = models.JSONField(
        help_text="The kernel's answer without the broker of each publisher."
    )

    class Meta(Computed.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["system", "number"], name="placement_number_once_per_system"
            ),
            models.CheckConstraint(
                condition=Q(brokers__gt=0, brokers__lte=F("publishers")),
                name="placement_brokers_serve_somebody",
            ),
            models.CheckConstraint(
                condition=Q(moved__lte=F("publishers")), name="placement_moves_at_most_all"
            ),
            models.CheckConstraint(
                condition=finite(
                    *("p99_s", "processing_p99_s", "mean_s", "slo_p99_s", "slo_mean_s"),
                    optional=True,
                ),
                name="placement_delays_finite_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(slo_p99_s=None, slo_mean_s=None, meets=None)
                | Q(slo_p99_s__isnull=False, meets__isnull=False)
                | Q(slo_mean_s__isnull=False, meets__isnull=False),
                name="placement_meets_a_target_or_has_none",
            ),
            models.CheckConstraint(
                condition=Q(round__gt=1) | Q(round=1, based_on=None),
                name="placement_of_the_first_round_follows_none",
            ),
        ]

    @property
    def objectives(self) -> Objectives:
        """Return what the topic was promised then."""
        return Objectives(p99_s=self.slo_p99_s, mean_s=self.slo_mean_s)


class Move(models.Model):
    """Store that one publisher changes its broker, or gets one."""

    placement = models.ForeignKey(Placement, on_delete=models.CASCADE, related_name="moves")
    publisher = models.CharField(max_length=200)
    group = models.CharField(
        max_length=200, blank=True, help_text="Its correlation key; empty: it sends on its own."
    )
    rate_per_s = models.FloatField()
    from_broker = models.CharField(
        max_length=200,
        blank=True,
        help_text="Empty: it has no broker today, or one without a publish rate.",
    )
    to_broker = models.CharField(max_length=200)
    must_move = models.BooleanField(
        default=False,
        help_text="It cannot stay: its broker is drained or full, a pin names another, or it has "
        "none.",
    )
    p99_without_s = models.FloatField(
        null=True,
        help_text="What 1 % of the messages would wait longer than if it stayed and all others "
        "moved, s; null: without bound, or it cannot stay.",
    )

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["placement", "publisher"], name="move_once"),
            models.CheckConstraint(
                condition=~Q(from_broker=F("to_broker")), name="move_changes_the_broker"
            ),
            models.CheckConstraint(condition=~Q(to_broker=""), name="move_leads_to_a_broker"),
            models.CheckConstraint(condition=finite("rate_per_s"), name="move_rate_finite"),
            models.CheckConstraint(
                condition=finite("p99_without_s", optional=True), name="move_price_finite"
            ),
            models.CheckConstraint(
                condition=Q(must_move=False) | Q(p99_without_s=None),
                name="move_that_must_be_has_no_price",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.publisher} to {self.to_broker}"
