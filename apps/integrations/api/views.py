"""Serve connections, what was exchanged, what waits, and the changes of plans."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import mixins, status, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.api.permissions import actor_of
from apps.accounts.domain.roles import Permission
from apps.common.api.filters import (
    ChangedFilter,
    CreatedFilter,
    FilterSet,
    Ordering,
    TrueOrFalse,
    since,
    until,
)
from apps.common.api.forms import changes
from apps.common.api.preconditions import expected_version, repeatable
from apps.common.api.versioned import VersionedViewSet
from apps.integrations import services
from apps.integrations.api.serializers import (
    ChangeOfPlanSerializer,
    ConnectionProductSerializer,
    ConnectionSerializer,
    ConnectionTestSerializer,
    ExchangeSerializer,
    WaitingMessageSerializer,
)
from apps.integrations.connectors import product, product_choices
from apps.integrations.models import READ, Connection, Exchange, Message
from apps.integrations.selectors.connections import connection_rows, plan_change, waiting_rows
from apps.plans.models import Plan
from apps.systems.api.entities import IF_MATCH, REASON, reason_of
from weir.plugins import describe


class ConnectionFilter(ChangedFilter):
    """Filter connections by when they were made."""

    class Meta:
        model = Connection
        fields: list[str] = []


class ConnectionViewSet(VersionedViewSet[Connection]):
    """Manage connections to products in which plans open their changes."""

    words: ClassVar[Mapping[str, str]] = {
        "list": "List the connections by page.",
        "retrieve": "Return one connection with its ETag.",
    }
    queryset = connection_rows()
    serializer_class: Any = ConnectionSerializer
    filterset_class = ConnectionFilter
    needs = dict.fromkeys(["create", "partial_update", "destroy", "test"], Permission.ADMINISTER)

    def get_queryset(self) -> QuerySet[Connection]:
        return connection_rows()

    @repeatable()
    def create(self, request: Request) -> Response:
        """Add a connection to a product at an address."""
        values, reason = changes(self.get_serializer(data=request.data))
        row = services.connection_create(actor=actor_of(request), values=values, reason=reason)
        return self._answer(row, status.HTTP_201_CREATED)

    @extend_schema(parameters=[IF_MATCH])
    def partial_update(self, request: Request, id: str) -> Response:
        """Change the given members; what waits is tried again at once."""
        version = expected_version(request)
        row = self.get_object()
        values, reason = changes(self.get_serializer(row, data=request.data, partial=True))
        return self._answer(
            services.connection_update(
                connection=row,
                actor=actor_of(request),
                expected_version=version,
                values=values,
                reason=reason,
            )
        )

    @extend_schema(parameters=[IF_MATCH, REASON])
    def destroy(self, request: Request, id: str) -> Response:
        """Delete a connection in which no plan has opened a change."""
        services.connection_delete(
            connection=self.get_object(),
            actor=actor_of(request),
            expected_version=expected_version(request),
            reason=reason_of(request),
        )
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(request=None, responses=ConnectionTestSerializer)
    @action(detail=True, methods=["post"])
    def test(self, request: Request, id: str) -> Response:
        """Ask the other side something that changes nothing, with the saved settings."""
        found = services.connection_test(connection=self.get_object())
        return Response(ConnectionTestSerializer(found).data)


class ConnectionProductsView(APIView):
    """List the products that this installation can open changes in."""

    @extend_schema(
        operation_id="connection_products_list",
        responses=inline_serializer(
            "ConnectionProducts", {"results": ConnectionProductSerializer(many=True)}
        ),
    )
    def get(self, request: Request) -> Response:
        """Return every product with the description of its settings."""
        rows = [
            {"name": name, "title": title, "settings": describe(product(name).Settings)}
            for name, title in product_choices()
        ]
        return Response({"results": ConnectionProductSerializer(rows, many=True).data})


class ExchangeFilter(FilterSet):
    """Filter exchanges by connection, change and time."""

    since = since("at")
    until = until("at")
    connection = filters.UUIDFilter(field_name="connection__public_id")
    change = filters.UUIDFilter(field_name="change__public_id")
    writes = TrueOrFalse(method="by_method", label="true: only requests that change something.")

    class Meta:
        model = Exchange
        fields: list[str] = []

    def by_method(self, rows: QuerySet[Exchange], name: str, value: bool) -> QuerySet[Exchange]:
        """Keep requests that write, or those that read."""
        return rows.exclude(method=READ) if value else rows.filter(method=READ)


class ExchangeViewSet(mixins.ListModelMixin, viewsets.GenericViewSet[Exchange]):
    """List the last requests to other sides with their answers."""

    words: ClassVar[Mapping[str, str]] = {
        "list": "List the last requests with their answers, secrets masked, newest first."
    }
    queryset = Exchange.objects.select_related("connection", "change")
    serializer_class = ExchangeSerializer
    filterset_class = ExchangeFilter
    filter_backends = [filters.DjangoFilterBackend, Ordering]
    ordering_fields = ["at"]
    ordering = ["-at", "-id"]


class WaitingMessageFilter(CreatedFilter):
    """Filter what waits by connection, plan and since when it waits."""

    connection = filters.UUIDFilter(field_name="change__connection__public_id")
    plan = filters.UUIDFilter(field_name="change__plan__public_id")

    class Meta:
        model = Message
        fields: list[str] = []


class WaitingMessageViewSet(mixins.ListModelMixin, viewsets.GenericViewSet[Message]):
    """List what waits to be sent about changes, and why."""

    words: ClassVar[Mapping[str, str]] = {
        "list": "List what waits to be sent about changes, and why, oldest first."
    }
    queryset = waiting_rows()
    serializer_class = WaitingMessageSerializer
    filterset_class = WaitingMessageFilter
    filter_backends = [filters.DjangoFilterBackend, Ordering]
    ordering_fields = ["created_at", "next_at"]
    ordering = ["id"]


class PlanChangeView(APIView):
    """Show the change of a plan."""

    refuses = {"get": (404,)}

    @extend_schema(operation_id="plans_change_retrieve", responses=ChangeOfPlanSerializer)
    def get(self, request: Request, id: Any) -> Response:
        """Return the change that the plan opened, and whether executing waits for it."""
        plan = get_object_or_404(Plan.objects.select_related("system"), public_id=id)
        return Response(ChangeOfPlanSerializer(plan_change(plan, timezone.now())).data)
