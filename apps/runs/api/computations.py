"""Serve the kinds of computation that this installation knows over the REST API."""

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.runs.selectors import Computation, computations, kind_choices


class ComputationMethodSerializer(serializers.Serializer[Any]):
    """A method by which a kind of computation can be asked for."""

    name = serializers.CharField()
    title = serializers.CharField()
    summary = serializers.CharField()


class ComputationSerializer(serializers.Serializer[Computation]):
    """A kind of computation."""

    kind = serializers.ChoiceField(choices=kind_choices(), help_text="`kind` of its runs.")
    title = serializers.CharField(
        help_text="The name of the whole kind, such as `Resource models`."
    )
    noun = serializers.CharField(help_text="One of them, such as `fit`.")
    address = serializers.CharField(
        help_text="What a run computes is at this address, with `/` and the `id` of its `answer`."
    )
    snapshot_type = serializers.CharField(
        help_text="Media type of `/runs/{id}/snapshot`, such as `application/jsonl`."
    )
    schedulable = serializers.BooleanField(help_text="A schedule or trigger can ask for it.")
    plannable = serializers.BooleanField(help_text="A plan can be made of its result.")
    weighs_benefit = serializers.BooleanField(
        help_text="Its plan weighs the net benefit against `least_benefit` of a schedule."
    )
    methods = serializers.SerializerMethodField(
        help_text="What `method` of a schedule may name; empty: it has no choice of methods."
    )

    @extend_schema_field(ComputationMethodSerializer(many=True))
    def get_methods(self, one: Computation) -> list[dict[str, str]]:
        return [
            {"name": name, "title": method.TITLE, "summary": method.SUMMARY}
            for name, method in sorted(one.methods().items())
        ]


class ComputationsView(APIView):
    """List the kinds of computation that this installation knows."""

    @extend_schema(
        operation_id="computations_list",
        responses=inline_serializer("Computations", {"results": ComputationSerializer(many=True)}),
    )
    def get(self, request: Request) -> Response:
        """Return every kind of computation, with its methods."""
        kinds: Any = list(computations().values())
        rows = ComputationSerializer(kinds, many=True)
        return Response({"results": rows.data})
