"""Compare methods on one snapshot over the REST API."""

from typing import Any

from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.permissions import actor_of
from apps.allocations.api.serializers import AllocationSerializer
from apps.allocations.services.compare import (
    SideBySide,
    Standing,
    allocation_compare,
    allocation_side_by_side,
)
from apps.common.api.fields import Amount
from apps.common.api.forms import Form
from apps.common.api.preconditions import repeatable
from apps.runs.api.views import RunSerializer, RunViewSet


class StandingSerializer(serializers.Serializer[Standing]):
    """Describe the latest result of one method; both null: it was never run."""

    method = serializers.CharField()
    title = serializers.CharField()
    allocation = AllocationSerializer(allow_null=True)
    run = RunSerializer(allow_null=True, help_text="A newer run without a result yet.")


class SideBySideSerializer(serializers.Serializer[SideBySide]):
    """List every method on one snapshot, the best allocation first."""

    upper_bound = serializers.FloatField(
        allow_null=True, help_text="The lowest bound that any of them has proven; it holds for all."
    )
    standings = StandingSerializer(many=True)


class CompareRequestSerializer(Form[dict[str, Any]]):
    """Read which methods to run on the snapshot of an allocation."""

    methods = serializers.ListField(
        child=serializers.CharField(max_length=64),
        required=False,
        default=list,
        max_length=50,
        help_text="Names from /optimizers. Default: all that have no allocation of it yet.",
    )
    time_limit_s = Amount(
        required=False, allow_null=True, default=None, min_value=0.1, max_value=86_400
    )


class ComparesMethods:
    """Provide the sub-resources `methods` and `compare` of an allocation."""

    @extend_schema(responses=SideBySideSerializer)
    @action(detail=True, methods=["get"], filter_backends=[], pagination_class=None)
    def methods(self, request: Request, id: str) -> Response:
        """Return each method's result on this allocation's snapshot, the best first."""
        allocation = self.get_object()  # type: ignore[attr-defined]
        side_by_side = allocation_side_by_side(allocation, self.queryset)  # type: ignore[attr-defined]
        return Response(SideBySideSerializer(side_by_side, context={"request": request}).data)

    @extend_schema(
        request=CompareRequestSerializer,
        responses={202: inline_serializer("ComparisonRuns", {"results": RunSerializer(many=True)})},
    )
    @action(detail=True, methods=["post"])
    @repeatable()
    def compare(self, request: Request, id: str) -> Response:
        """Run other methods on the same snapshot, with default parameters, the same seed and a cold
        start."""
        form = CompareRequestSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        runs = allocation_compare(
            allocation=self.get_object(),  # type: ignore[attr-defined]
            actor=actor_of(request),
            names=form.validated_data["methods"],
            time_limit_s=form.validated_data["time_limit_s"],
        )
        fresh = RunViewSet.queryset.filter(pk__in=[run.pk for run in runs]).order_by("pk")
        body = RunSerializer(fresh, many=True, context={"request": request}).data
        headers = {"Location": f"/api/v1/allocations/{id}/methods"}
        return Response({"results": body}, status=status.HTTP_202_ACCEPTED, headers=headers)
