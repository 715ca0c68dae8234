"""Store allocations: results of runs, as rows that people can page through and compare."""

from typing import Any

from django.db import models
from django.db.models import Q

from apps.runs.models import Computed
from apps.systems.models import System


class Allocation(Computed):
    """Store rates, admitted consumers and prices of one run; numbered within its system."""

    LETTER = "A"
    LARGE = ("trace", "bounds", "moments")

    system = models.ForeignKey(
        System, on_delete=models.CASCADE, null=True, related_name="allocations"
    )
    status = models.CharField(max_length=16)
    method = models.CharField(max_length=64)
    utility = models.FloatField()
    upper_bound = models.FloatField(null=True)
    iterations = models.PositiveIntegerField()
    trace: "models.JSONField[Any, Any]" = models.JSONField(default=list)
    bounds: "models.JSONField[Any, Any]" = models.JSONField(default=list)
    moments: "models.JSONField[Any, Any]" = models.JSONField(
        default=list,
        help_text="Pairs of iteration and seconds of computing until its end; a job may lose them.",
    )
    admitted = models.BigIntegerField()
    wanted = models.BigIntegerField()

    class Meta(Computed.Meta):
        indexes = [models.Index(fields=["updated_at"], name="allocation_by_change")]
        constraints = [
            models.UniqueConstraint(
                fields=["system", "number"],
                condition=Q(system__isnull=False),
                name="allocation_number_once_per_system",
            ),
            models.CheckConstraint(
                condition=Q(admitted__gte=0, admitted__lte=models.F("wanted")),
                name="allocation_admits_at_most_the_wanted",
            ),
        ]


class FlowRate(models.Model):
    """Store the rate given to one flow."""

    allocation = models.ForeignKey(Allocation, on_delete=models.CASCADE, related_name="rates")
    flow = models.CharField(max_length=200)
    nodes: "models.JSONField[Any, Any]" = models.JSONField(default=list)
    rate_min_per_s = models.FloatField()
    rate_max_per_s = models.FloatField()
    rate_per_s = models.FloatField()
    admitted = models.BigIntegerField()
    wanted = models.BigIntegerField()
    utility = models.FloatField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["allocation", "flow"], name="flow_rate_once")
        ]

    def __str__(self) -> str:
        return f"{self.flow} {self.rate_per_s} msg/s"


class ClassPopulation(models.Model):
    """Store how many consumers of one class are admitted, and what one of them is worth and
    costs."""

    allocation = models.ForeignKey(Allocation, on_delete=models.CASCADE, related_name="populations")
    consumer_class = models.CharField(max_length=200)
    flow = models.CharField(max_length=200)
    node = models.CharField(max_length=200)
    admitted = models.BigIntegerField()
    wanted = models.BigIntegerField()
    utility = models.FloatField()
    value_of_one = models.FloatField(help_text="Utility of one consumer at the flow's rate.")
    price_of_one = models.FloatField(help_text="What one consumer takes, at the node's prices.")
    scale = models.FloatField(help_text="The utility function's weight: classes are ranked by it.")

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["allocation", "consumer_class"], name="class_population_once"
            ),
            models.CheckConstraint(
                condition=Q(admitted__gte=0, admitted__lte=models.F("wanted")),
                name="class_admits_at_most_the_wanted",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.consumer_class} {self.admitted}/{self.wanted}"


class Place(models.TextChoices):
    """Name where a resource is."""

    NODE = "node", "Node"
    LINK = "link", "Link"


class ResourceLoad(models.Model):
    """Store load, capacity and price of one resource of a node, or of a link."""

    allocation = models.ForeignKey(Allocation, on_delete=models.CASCADE, related_name="loads")
    place = models.CharField(max_length=8, choices=Place.choices)
    name = models.CharField(max_length=200)
    resource = models.CharField(max_length=32, blank=True)
    capacity = models.FloatField()
    load = models.FloatField()
    price = models.FloatField()

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(
                fields=["allocation", "place", "name", "resource"], name="resource_load_once"
            ),
            models.CheckConstraint(condition=Q(place__in=Place.values), name="load_place_known"),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.resource} {self.load}/{self.capacity}"
