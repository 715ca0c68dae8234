"""Serve how complete the measurements of a time are."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.pipeline.api.serializers import TimeQuery, moment
from apps.pipeline.selectors.quality import ARRIVAL, MOST_BROKERS, quality_of
from apps.records.models import RecordTable


class BrokerQualitySerializer(serializers.Serializer[Any]):
    """Describe how much of a time was measured at a broker."""

    broker = serializers.UUIDField(source="broker.public_id")
    broker_name = serializers.CharField(source="broker.name")
    minutes = serializers.IntegerField(
        help_text="Whole minutes of the time in which there was this broker."
    )
    measured_minutes = serializers.IntegerField(
        help_text="Those of which there is any measurement of the broker, its topics or classes."
    )
    gaps = serializers.IntegerField(
        help_text="How many runs of minutes there are in which nothing was measured."
    )
    longest_gap_minutes = serializers.IntegerField(help_text="The longest of these, minutes.")
    longest_gap_at = serializers.DateTimeField(
        allow_null=True, help_text="When that one began; null: there is no gap."
    )
    suspect_ratio = serializers.FloatField(
        allow_null=True,
        help_text="The share of agents' samples, 0 to 1, that were left out because they "
        "contradict their broker's own totals; null: none came.",
    )


class SetAsideProblemSerializer(serializers.Serializer[Any]):
    """Describe the rows that were set aside for one reason."""

    table = serializers.ChoiceField(choices=RecordTable.choices)
    problem = serializers.CharField(help_text="What is wrong with them, with the column.")
    rows = serializers.IntegerField()
    waiting = serializers.IntegerField(
        help_text="Those of them that nobody has taken after all, or discarded."
    )
    latest = serializers.DateTimeField(help_text="When the latest of them arrived.")


class RecordQualitySerializer(serializers.Serializer[Any]):
    """Describe how complete the measurements of a system are in a time."""

    since = serializers.DateTimeField(help_text="When the first minute begins.")
    until = serializers.DateTimeField(help_text="When the last minute has ended.")
    minutes = serializers.IntegerField(
        help_text="Whole minutes of the time that ended at least "
        f"{ARRIVAL.total_seconds():.0f} s ago: what agents measured later may still be on its way."
    )
    brokers = BrokerQualitySerializer(many=True)
    brokers_left_out = serializers.IntegerField(
        help_text=f"The number of further brokers; the first {MOST_BROKERS} by name are shown."
    )
    rows = serializers.IntegerField(
        help_text="Rows of all tables that arrived in the time, whatever time they are of; rows "
        "taken after all are not counted again."
    )
    repeats = serializers.IntegerField(
        help_text="How often batches of the time were sent again; each counts once."
    )
    late = serializers.IntegerField(
        help_text="Rows of these that came later than the system's settings take them; they are "
        "set aside, too."
    )
    set_aside = SetAsideProblemSerializer(
        many=True, help_text="Rows of these that did not fit, by reason, the most frequent first."
    )


class RecordQualityView(APIView):
    """Say how complete the measurements of a time are."""

    @extend_schema(
        operation_id="record_quality_retrieve",
        parameters=[TimeQuery],
        responses=RecordQualitySerializer,
    )
    def get(self, request: Request) -> Response:
        """Return how complete the measurements of a time are.

        Of each broker: how many minutes were measured, and where the gaps are. Of the rows that
        arrived in the time: how many came late, and which were set aside for what reason.
        """
        form = TimeQuery(data=request.query_params.dict())
        form.is_valid(raise_exception=True)
        system, span = form.validated_data["system"], form.validated_data["span"]
        quality = quality_of(system, span)
        ends = {"since": moment(span.since_s), "until": moment(span.until_s)}
        fields = {name: getattr(quality, name) for name in quality.__slots__}
        return Response(RecordQualitySerializer({**ends, **fields}).data)
