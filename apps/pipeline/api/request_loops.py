"""Serve the requesters of classes as measured: how many, their pause, the time of an answer."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.catalog.models import UtilityFunction
from apps.common.api.fields import PublicId
from apps.common.formatting import percent
from apps.pipeline.api.serializers import TimeQuery, moment
from apps.pipeline.domain.request_loops import (
    LEAST_ANSWERS,
    LEAST_MINUTES,
    MOST_UNANSWERED,
)
from apps.pipeline.selectors.request_loops import request_loops

MOST_ROWS = 500
"""Classes of an answer."""
_NO_LATENCY = "null: the function is no worth of latency"


class RequestLoopsQuery(TimeQuery):
    """Read whose requests are shown, and of which time."""

    utility = PublicId(
        queryset=UtilityFunction.objects.all(),
        required=False,
        help_text="Classes with this utility function alone, whatever it is. Left out: those of "
        "request-response topics, and those with a worth of latency.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)
        if "utility" in attrs and attrs["utility"].system_id != attrs["system"].pk:
            raise serializers.ValidationError({"utility": "Belongs to another system."})
        return attrs


class LoopIntervalSerializer(serializers.Serializer[Any]):
    """Describe estimates by minute, in the unit of their name."""

    low = serializers.FloatField(help_text="A tenth of the minutes is below this.")
    median = serializers.FloatField(help_text="Half of the minutes are below this.")
    high = serializers.FloatField(help_text="A tenth of the minutes is above this.")
    minutes = serializers.IntegerField(help_text="In how many minutes it was estimated.")


class RequestLoopSerializer(serializers.Serializer[Any]):
    """Describe the requesters of a class, typed and measured."""

    consumer_class = serializers.UUIDField(source="consumer_class.public_id")
    consumer_class_name = serializers.CharField(source="consumer_class.name")
    topic = serializers.UUIDField(source="consumer_class.topic.public_id")
    topic_name = serializers.CharField(source="consumer_class.topic.name")
    utility = serializers.UUIDField(source="consumer_class.utility.public_id")
    utility_name = serializers.CharField(source="consumer_class.utility.name")
    typed_senders = serializers.IntegerField(
        source="typed.senders",
        allow_null=True,
        help_text=f"Requesters by the utility function; {_NO_LATENCY}.",
    )
    typed_think_s = serializers.FloatField(
        source="typed.think_s",
        allow_null=True,
        help_text=f"Pause by the utility function, seconds; {_NO_LATENCY}.",
    )
    typed_exec_s = serializers.FloatField(
        source="typed.exec_s",
        allow_null=True,
        help_text=f"Time of an answer by the utility function, seconds; {_NO_LATENCY}.",
    )
    minutes = serializers.IntegerField(
        source="loop.minutes", help_text="In how many minutes clients counted requests."
    )
    answers_per_s = serializers.FloatField(
        source="loop.answers_per_s",
        allow_null=True,
        help_text="The mean over these minutes; null: there are none.",
    )
    response_s = LoopIntervalSerializer(
        source="loop.response_s",
        allow_null=True,
        help_text="Mean seconds from a request until its answer, with its wait at the gate; null: "
        f"fewer than {LEAST_MINUTES} minutes have {LEAST_ANSWERS} answers, and at most "
        f"{percent(MOST_UNANSWERED)} of the requests without one.",
    )
    senders = LoopIntervalSerializer(
        source="loop.senders",
        allow_null=True,
        help_text="Requesters that ask in turn: requests per second, times pause and round trip. "
        "Null: `why`.",
    )
    think_s = LoopIntervalSerializer(
        source="loop.think_s",
        allow_null=True,
        help_text="Mean seconds between an answer and the next request, as clients count them. "
        "Null: `why`.",
    )
    why = serializers.CharField(
        source="loop.why",
        help_text="Why requesters and pause cannot be told; empty where they can.",
    )
    exec_s = LoopIntervalSerializer(
        source="loop.exec_s",
        allow_null=True,
        help_text="Mean seconds until an answer, less the mean wait at the gate, in minutes in "
        "which that was half of it at most. Null: `exec_why`.",
    )
    exec_why = serializers.CharField(
        source="loop.exec_why",
        help_text="Why the time of an answer cannot be told; empty where it can.",
    )
    is_gate_measured = serializers.BooleanField(
        source="loop.is_gate_measured",
        help_text="Whether waits at the gate were measured in three minutes at least, and taken "
        "off; where not, `exec_s` holds them.",
    )


class RequestLoopsSerializer(serializers.Serializer[Any]):
    """Describe what was measured of request-response traffic in a time."""

    since = serializers.DateTimeField(help_text="When the first minute begins.")
    until = serializers.DateTimeField(help_text="When the last minute has ended.")
    count = serializers.IntegerField(help_text="The number of classes.")
    rows = RequestLoopSerializer(
        many=True, help_text=f"By the name of the class, {MOST_ROWS} at most."
    )


class RequestLoopsView(APIView):
    """Show who asks on request-response topics, and how."""

    @extend_schema(
        operation_id="request_loops_retrieve",
        parameters=[RequestLoopsQuery],
        responses=RequestLoopsSerializer,
    )
    def get(self, request: Request) -> Response:
        """Compare the requesters, pause and time of an answer of each class with measured ones.

        They are what a worth of latency takes. Clients count their answers and the pauses before
        their requests (`weir_client.delays`); estimates are by minute.
        """
        form = RequestLoopsQuery(data=request.query_params.dict())
        form.is_valid(raise_exception=True)
        values = form.validated_data
        span = values["span"]
        rows = request_loops(values["system"], span, utility=values.get("utility"))
        body = {
            "since": moment(span.since_s),
            "until": moment(span.until_s),
            "count": len(rows),
            "rows": rows[:MOST_ROWS],
        }
        return Response(RequestLoopsSerializer(body).data)
