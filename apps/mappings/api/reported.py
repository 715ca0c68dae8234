"""What the API says of what agents report of mapped flows: hand-overs and filtering."""

from typing import Any

from rest_framework import serializers

from apps.common.api.fields import choices
from apps.mappings.models import FIGURES_OF_CELL, FilteringCell

HAND_OVER_PHASES = choices("preparing", "draining", "done")


class HandOverSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe the last hand-over of one flow from stream to stream at one broker."""

    flow = serializers.CharField()
    broker = serializers.UUIDField()
    broker_name = serializers.CharField()
    from_stream = serializers.IntegerField()
    from_group = serializers.IntegerField()
    to_stream = serializers.IntegerField()
    to_group = serializers.IntegerField()
    phase = serializers.ChoiceField(choices=HAND_OVER_PHASES)
    began_at = serializers.DateTimeField(help_text="By the clock of the agent's machine.")
    took_s = serializers.FloatField(
        allow_null=True,
        help_text="From the first word of it until every subscriber had all of the former stream, "
        "or was given up, s; null: it is under way.",
    )
    unready = serializers.IntegerField(
        help_text="Subscribers that the switch did not wait for: they may have missed messages."
    )


class HandOversSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe which flows change their stream now or did in the last minute, as agents report."""

    brokers = serializers.IntegerField(help_text="Brokers whose agents send flows on streams.")
    moving = serializers.IntegerField(help_text="Hand-overs under way.")
    done = serializers.IntegerField(
        help_text="Hand-overs of the last minute that are done, at most 200 of a broker."
    )
    median_s = serializers.FloatField(allow_null=True, help_text="What those took, s.")
    longest_s = serializers.FloatField(allow_null=True)
    unready = serializers.IntegerField(
        help_text="Subscribers that were not waited for, of all of them."
    )
    rows = HandOverSerializer(many=True, help_text="At most 100, those under way first.")


class FilteringCellSerializer(serializers.ModelSerializer[FilteringCell]):
    """Describe what receivers filtered over a quarter of an hour."""

    class Meta:
        model = FilteringCell
        fields = ["at", "measured_s", *FIGURES_OF_CELL]
        read_only_fields = fields


class FilteringSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe what receivers of a system filtered over the last day."""

    because = serializers.CharField(help_text="Why there is nothing to show; empty: there is.")
    cells = FilteringCellSerializer(
        many=True, help_text="Quarters of an hour in which agents measured, the oldest first."
    )
