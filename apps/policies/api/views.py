"""Serve policies over the REST API, and what stops everything that Weir does by itself."""

from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django_filters import rest_framework as filters
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import mixins, serializers, status, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.permissions import actor_of
from apps.accounts.domain.roles import Permission
from apps.common.api.filters import ChangedFilter, Ordering, TrueOrFalse
from apps.common.api.forms import parameter
from apps.common.api.preconditions import repeatable
from apps.policies.api.serializers import (
    AutomaticResumeSerializer,
    AutomaticStopSerializer,
    PolicySerializer,
)
from apps.policies.models import AutomaticStop, Policy
from apps.policies.selectors import policy_rows
from apps.policies.services import (
    automatic_resume,
    automatic_stop,
    policy_for,
    policy_update,
)
from apps.systems.api.entities import IF_MATCH
from apps.systems.api.settings import SettingsViewSet
from apps.systems.models import System


class PolicyViewSet(SettingsViewSet[Policy]):
    """Manage one policy per system, and the installation's default, made when first asked for."""

    queryset = policy_rows()
    serializer_class = PolicySerializer
    needs = {"partial_update": Permission.ADMINISTER}

    def get_queryset(self) -> QuerySet[Policy]:
        return policy_rows()

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "system", OpenApiTypes.UUID, description="The policy of this system alone."
            )
        ]
    )
    def list(self, request: Request) -> Response:
        """List the default and the policies of systems; with `system` exactly that system's."""
        policies = self.filter_queryset(self.get_queryset())
        system_id = parameter(request, "system", serializers.UUIDField())
        if system_id:
            policy = policy_for(get_object_or_404(System, public_id=system_id))
            policies = policies.filter(pk=policy.pk)
        else:
            policy_for(None)
        page: Any = self.paginate_queryset(policies)
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    def retrieve(self, request: Request, id: str) -> Response:
        """Return one policy with its ETag."""
        return self.answer(self.get_object())

    @extend_schema(parameters=[IF_MATCH])
    def partial_update(self, request: Request, id: str) -> Response:
        """Change the given members; lists are replaced as a whole."""
        return self.edit(request, lambda row, **change: policy_update(policy=row, **change))


class AutomaticStopFilter(ChangedFilter):
    """Filter stops by whether they last."""

    lasts = TrueOrFalse(field_name="ended_at", lookup_expr="isnull")

    class Meta:
        model = AutomaticStop
        fields: list[str] = []


class AutomaticStopViewSet(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[AutomaticStop]
):
    """Stop everything that Weir does by itself, let it go on, and see when it was stopped."""

    queryset = AutomaticStop.objects.select_related("stopped_by", "ended_by")
    serializer_class = AutomaticStopSerializer
    filterset_class = AutomaticStopFilter
    filter_backends = [filters.DjangoFilterBackend, Ordering]
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    lookup_value_converter = "uuid"
    ordering_fields = ["created_at"]
    ordering = ["-id"]
    needs = dict.fromkeys(["create", "resume"], Permission.EXECUTE_PLAN)
    refuses = {"create": (409,), "resume": (409,)}

    @extend_schema(responses={201: AutomaticStopSerializer})
    @repeatable()
    def create(self, request: Request) -> Response:
        """Stop everything that Weir does by itself.

        In all systems: no schedule or trigger fires, no plan is approved or begun without a person,
        rates and parts stay as they are, and executions that Weir began wait after their step.
        """
        form = self.get_serializer(data=request.data)
        form.is_valid(raise_exception=True)
        stop = automatic_stop(actor=actor_of(request), reason=form.validated_data["reason"])
        location = {"Location": f"/api/v1/automatic-stops/{stop.public_id}"}
        body = self.get_serializer(stop).data
        return Response(body, status=status.HTTP_201_CREATED, headers=location)

    @extend_schema(request=AutomaticResumeSerializer, responses=AutomaticStopSerializer)
    @action(detail=True, methods=["post"])
    @repeatable()
    def resume(self, request: Request, id: str) -> Response:
        """Let Weir do again by itself what policies, schedules and triggers say."""
        form = AutomaticResumeSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        stop = automatic_resume(
            stop=self.get_object(),
            actor=actor_of(request),
            reason=form.validated_data["reason"],
        )
        return Response(self.get_serializer(stop).data)
