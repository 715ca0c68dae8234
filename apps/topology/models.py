"""Store brokers with capacities, links between them, overlays (versioned trees) and goal
topologies."""

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F, Q

from apps.systems.models import Entity, entity_constraints
from weir.coordination.wire import broker_too_long


class Broker(Entity):
    """Store a broker process, a node of the model."""

    region = models.CharField(max_length=100, blank=True)
    map_x = models.FloatField(null=True, blank=True, help_text="Place on the map, 0 to 1.")
    map_y = models.FloatField(null=True, blank=True, help_text="Place on the map, 0 to 1.")
    publish_rate_max_per_s = models.FloatField(
        null=True,
        blank=True,
        help_text="What it takes of all publishers together, messages per second; placements use "
        "only brokers that have it.",
    )
    children = {"capacities": ("resource",)}
    enforced_as = "broker"

    class Meta:
        ordering = ["name"]
        constraints = [
            *entity_constraints("broker"),
            models.CheckConstraint(
                condition=Q(publish_rate_max_per_s=None)
                | (Q(publish_rate_max_per_s__gte=0) & Q(publish_rate_max_per_s__lt=float("inf"))),
                name="broker_publish_rate_finite_not_negative",
            ),
        ]

    def clean(self) -> None:
        """Check that neighbours can name a stream after the broker."""
        super().clean()
        too_long = broker_too_long(self.name)
        if too_long and not self.system.model_only:
            raise ValidationError({"name": f"Too long: it {too_long}. Shorten it."})


class BrokerCapacity(models.Model):
    """Store how much of one resource a broker has, in that resource's unit per second."""

    broker = models.ForeignKey(Broker, on_delete=models.CASCADE, related_name="capacities")
    resource = models.CharField(max_length=32)
    capacity = models.FloatField()

    class Meta:
        ordering = ["resource"]
        constraints = [
            models.UniqueConstraint(
                fields=["broker", "resource"], name="broker_capacity_once_per_resource"
            ),
            models.CheckConstraint(
                condition=Q(capacity__gte=0) & Q(capacity__lt=float("inf")),
                name="broker_capacity_finite_not_negative",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.broker} {self.resource} {self.capacity}"


class Link(Entity):
    """Store a link between two brokers with a capacity in link units per second."""

    source = models.ForeignKey(Broker, on_delete=models.PROTECT, related_name="links_out")
    target = models.ForeignKey(Broker, on_delete=models.PROTECT, related_name="links_in")
    capacity = models.FloatField(
        help_text="Link units per second; a flow costs its link cost x rate."
    )
    latency_s = models.FloatField(null=True, blank=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            *entity_constraints("link"),
            models.CheckConstraint(condition=~Q(source=F("target")), name="link_joins_two_brokers"),
            models.CheckConstraint(
                condition=Q(capacity__gte=0) & Q(capacity__lt=float("inf")),
                name="link_capacity_finite_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(latency_s=None) | (Q(latency_s__gte=0) & Q(latency_s__lt=float("inf"))),
                name="link_latency_finite_not_negative",
            ),
        ]


class OverlayPurpose(models.TextChoices):
    """Name what an overlay is for."""

    OVERLAY = "overlay", "Overlay"
    GOAL = "goal", "Goal topology"


class Overlay(Entity):
    """Store a tree of brokers: one of them is in force, others are former ones, drafts or goals."""

    purpose = models.CharField(
        max_length=16, choices=OverlayPurpose.choices, default=OverlayPurpose.OVERLAY
    )
    in_force = models.BooleanField(default=False)
    note = models.TextField(blank=True)
    children = {"edges": ("a", "b")}

    class Meta:
        ordering = ["name"]
        constraints = [
            *entity_constraints("overlay"),
            models.UniqueConstraint(
                fields=["system"], condition=Q(in_force=True), name="one_overlay_in_force"
            ),
            models.CheckConstraint(
                condition=Q(in_force=False) | Q(purpose=OverlayPurpose.OVERLAY),
                name="goal_topology_is_not_in_force",
            ),
            models.CheckConstraint(
                condition=Q(purpose__in=OverlayPurpose.values), name="overlay_purpose_known"
            ),
        ]


class OverlayEdge(models.Model):
    """Store an undirected edge of an overlay; a deferred trigger checks that the edges form a
    tree."""

    overlay = models.ForeignKey(Overlay, on_delete=models.CASCADE, related_name="edges")
    a = models.ForeignKey(Broker, on_delete=models.PROTECT, related_name="+")
    b = models.ForeignKey(Broker, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["overlay", "a", "b"], name="overlay_edge_once"),
            models.CheckConstraint(condition=~Q(a=F("b")), name="overlay_edge_joins_two_brokers"),
        ]

    def __str__(self) -> str:
        return f"{self.a} - {self.b}"
