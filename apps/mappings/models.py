"""Store what receiving costs in a system, and computed maps of its flows to streams and groups."""

from typing import Any

from django.db import models
from django.db.models import F, Q

from apps.catalog.models import finite
from apps.common.models import BaseModel
from apps.runs.models import Computed
from apps.systems.models import System

FIGURES_OF_CELL = (
    *("cost", "transport_cost", "messaging_cost"),
    *("unwanted_per_s", "dropped_per_s", "wanted_per_s"),
)


class MappingSettings(BaseModel):
    """Store what receiving and moving costs in one system: the weights of its maps."""

    system = models.OneToOneField(System, on_delete=models.CASCADE, related_name="mapping_settings")
    transport = models.FloatField(
        default=2.0, help_text="Work of a receiver per packet of a joined group."
    )
    messaging = models.FloatField(
        default=1.0, help_text="Work of a receiver per message of a wanted stream."
    )
    aggregation = models.FloatField(default=8.0, help_text="Messages in a packet, at least 1.")
    flow_move_work = models.FloatField(
        default=1000.0,
        help_text="Work of moving one flow to another stream, of all receivers.",
    )
    stream_move_work = models.FloatField(
        default=10_000.0,
        help_text="Work of moving one stream to another group, of all receivers.",
    )
    horizon_s = models.FloatField(
        default=3600.0, help_text="The time over which a move has to pay for itself, s."
    )
    flows_per_s = models.FloatField(
        default=40.0,
        help_text="Flows, or streams, that are moved in a second when a plan is executed.",
    )
    version = models.PositiveIntegerField(default=1, editable=False)

    class Meta:
        verbose_name_plural = "mapping settings"
        constraints = [
            models.CheckConstraint(
                condition=finite("transport", "messaging", "flow_move_work", "stream_move_work"),
                name="mapping_work_finite_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(aggregation__gte=1, aggregation__lt=1e9),
                name="mapping_aggregation_at_least_1",
            ),
            models.CheckConstraint(
                condition=Q(horizon_s__gt=0, horizon_s__lt=1e9, flows_per_s__gt=0)
                & Q(flows_per_s__lt=1e9),
                name="mapping_horizon_and_pace_positive",
            ),
        ]

    def __str__(self) -> str:
        return f"mapping settings of {self.system}"


class Mapping(Computed):
    """Store one map of a system's flows to streams and groups; numbered within its system."""

    LETTER = "M"
    LARGE = ("outcome",)

    system = models.ForeignKey(System, on_delete=models.CASCADE, related_name="mappings")
    method = models.CharField(max_length=64)
    complete = models.BooleanField(
        help_text="Whether the search, and the curve of moves, came to their end."
    )
    flows = models.PositiveIntegerField(help_text="Topics of the system.")
    wanted_flows = models.PositiveIntegerField(help_text="Topics that somebody wants.")
    users = models.PositiveIntegerField(help_text="Subscribers.")
    interests = models.PositiveIntegerField(help_text="Pairs of subscriber and wanted topic.")
    streams = models.PositiveIntegerField(help_text="Streams that there are.")
    groups = models.PositiveIntegerField(help_text="Groups that there are.")
    cost = models.FloatField(help_text="What unwanted traffic costs all receivers, work/s.")
    former_cost = models.FloatField(
        null=True,
        help_text="The same by the map that was in force, work/s; null: there was none.",
    )
    kept_cost = models.FloatField(
        null=True,
        help_text="The same if that map is kept: only flows without a stream, and those that pins "
        "tear away, move; null: there was none.",
    )
    random_cost = models.FloatField(help_text="What a random map costs on average, work/s.")
    moved = models.PositiveIntegerField(help_text="Flows that change their stream.")
    moved_streams = models.PositiveIntegerField(help_text="Streams that change their group.")
    unwanted_per_s = models.FloatField(
        help_text="Messages that receivers are handed and do not want, msg/s."
    )
    note = models.TextField(blank=True)
    outcome: "models.JSONField[Any, Any]" = models.JSONField(
        help_text="Weights, compared maps, the curve of cost against moves, and pins."
    )

    class Meta(Computed.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["system", "number"], name="mapping_number_once_per_system"
            ),
            models.CheckConstraint(
                condition=finite("cost", "random_cost", "unwanted_per_s")
                & finite("former_cost", "kept_cost", optional=True),
                name="mapping_costs_finite_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(moved__lte=F("wanted_flows"), moved_streams__lte=F("streams")),
                name="mapping_moves_at_most_all",
            ),
        ]


class FilteringCell(models.Model):
    """Store what receivers of one system filtered over a quarter of an hour, by the map in force
    then: means of what is computed each minute from measured rates."""

    system = models.ForeignKey(System, on_delete=models.CASCADE, related_name="filtering_cells")
    at = models.DateTimeField(help_text="When it begins.")
    measured_s = models.FloatField(help_text="Seconds of it that were measured.")
    counted_until = models.DateTimeField(help_text="The end of the last minute counted.")
    cost = models.FloatField(default=0.0, help_text="Of unwanted traffic, work/s.")
    transport_cost = models.FloatField(default=0.0, help_text="Its part for packets, work/s.")
    messaging_cost = models.FloatField(default=0.0, help_text="Its part for messages, work/s.")
    unwanted_per_s = models.FloatField(default=0.0, help_text="Unwanted messages taken, msg/s.")
    dropped_per_s = models.FloatField(
        default=0.0, help_text="Messages of unwanted streams dropped, msg/s."
    )
    wanted_per_s = models.FloatField(default=0.0, help_text="Wanted messages received, msg/s.")

    class Meta:
        ordering = ["system", "at"]
        constraints = [
            models.UniqueConstraint(fields=["system", "at"], name="filtering_cell_once"),
            models.CheckConstraint(
                condition=Q(measured_s__gt=0) & finite(*FIGURES_OF_CELL),
                name="filtering_cell_finite_and_measured",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.system} from {self.at:%d %b %H:%M}"
