"""Serve webhooks, their deliveries, and the events that there are."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, ClassVar

from django.db.models import QuerySet
from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import mixins, status, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.api.permissions import actor_of, granted
from apps.accounts.domain.roles import Permission
from apps.common.api.filters import ChangedFilter, CreatedFilter, Ordering
from apps.common.api.forms import changes
from apps.common.api.preconditions import expected_version, repeatable
from apps.common.api.versioned import VersionedViewSet
from apps.systems.api.entities import IF_MATCH, REASON, reason_of
from apps.webhooks import services
from apps.webhooks.api.serializers import (
    DELIVERY_STATES,
    DeliveryDetailSerializer,
    DeliverySerializer,
    EventTypeSerializer,
    NewWebhookSerializer,
    RotationSerializer,
    WebhookSerializer,
)
from apps.webhooks.domain.event_types import FIRST, KINDS, PRIVATE, types_of
from apps.webhooks.models import Delivery, Webhook
from apps.webhooks.selectors.webhooks import delivery_rows, webhook_rows


class WebhookFilter(ChangedFilter):
    """Filter webhooks by when they were made."""

    class Meta:
        model = Webhook
        fields: list[str] = []


class WebhookViewSet(VersionedViewSet[Webhook]):
    """Manage what hears of events."""

    words: ClassVar[Mapping[str, str]] = {
        "list": "List the webhooks by page.",
        "retrieve": "Return one webhook with its ETag.",
    }
    queryset = webhook_rows()
    serializer_class: Any = WebhookSerializer
    filterset_class = WebhookFilter
    search_fields = ["name", "description"]
    needs = dict.fromkeys(
        ["create", "partial_update", "destroy", "rotate", "test"], Permission.ADMINISTER
    )
    refuses = {"test": (409,)}

    def get_queryset(self) -> QuerySet[Webhook]:
        return webhook_rows()

    def _answer(
        self, row: Any, http_status: int = status.HTTP_200_OK, secret: str = ""
    ) -> Response:
        response = super()._answer(row, http_status)
        if secret:
            response["Cache-Control"] = "no-store"
            response.data = {**response.data, "secret": secret}
        return response

    @extend_schema(responses={201: NewWebhookSerializer})
    @repeatable(secret="secret", instead="Make a new one there with `rotate`.")
    def create(self, request: Request) -> Response:
        """Add a webhook; the answer holds its secret, once."""
        values, reason = changes(self.get_serializer(data=request.data))
        row, secret = services.webhook_create(actor=actor_of(request), values=values, reason=reason)
        return self._answer(row, status.HTTP_201_CREATED, secret)

    @extend_schema(parameters=[IF_MATCH])
    def partial_update(self, request: Request, id: str) -> Response:
        """Change the given members; what waits is tried again at once."""
        version = expected_version(request)
        row = self.get_object()
        values, reason = changes(self.get_serializer(row, data=request.data, partial=True))
        return self._answer(
            services.webhook_update(
                webhook=row,
                actor=actor_of(request),
                expected_version=version,
                values=values,
                reason=reason,
            )
        )

    @extend_schema(parameters=[IF_MATCH, REASON])
    def destroy(self, request: Request, id: str) -> Response:
        """Delete a webhook with its deliveries, also those that wait."""
        services.webhook_delete(
            webhook=self.get_object(),
            actor=actor_of(request),
            expected_version=expected_version(request),
            reason=reason_of(request),
        )
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(
        parameters=[IF_MATCH], request=RotationSerializer, responses=NewWebhookSerializer
    )
    @action(detail=True, methods=["post"])
    @repeatable(secret="secret", instead="Rotate it again, under another key.")
    def rotate(self, request: Request, id: str) -> Response:
        """Make a new secret, shown this once; the present one signs as well for some hours."""
        version = expected_version(request)
        values, reason = changes(RotationSerializer(data=request.data))
        row, secret = services.secret_rotate(
            webhook=self.get_object(),
            actor=actor_of(request),
            expected_version=version,
            keep_previous=timedelta(hours=values["keep_previous_h"]),
            reason=reason,
        )
        return self._answer(row, secret=secret)

    @extend_schema(request=None, responses={202: DeliverySerializer})
    @action(detail=True, methods=["post"])
    @repeatable()
    def test(self, request: Request, id: str) -> Response:
        """Send an event that only shows that the address works."""
        row = services.webhook_test(webhook=self.get_object(), actor=actor_of(request))
        return Response(
            DeliverySerializer(row, context=self.get_serializer_context()).data,
            status=status.HTTP_202_ACCEPTED,
            headers={"Location": f"/api/v1/deliveries/{row.public_id}"},
        )


class DeliveryFilter(CreatedFilter):
    """Filter deliveries by webhook, state, type and time."""

    webhook = filters.UUIDFilter(field_name="webhook__public_id")
    state = filters.ChoiceFilter(choices=DELIVERY_STATES)

    class Meta:
        model = Delivery
        fields = ["type", "subject"]


class DeliveryViewSet(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[Delivery]
):
    """Show what was sent to webhooks, what waits and why."""

    words: ClassVar[Mapping[str, str]] = {
        "list": "List what was sent, waits or was given up, newest first.",
        "retrieve": "Return a delivery with its body, and what each attempt was answered.",
    }
    queryset = delivery_rows(may_administer=True)
    filterset_class = DeliveryFilter
    filter_backends = [filters.DjangoFilterBackend, Ordering]
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    lookup_value_converter = "uuid"
    ordering_fields = ["created_at"]
    ordering = ["-id"]
    needs = {"redeliver": Permission.ADMINISTER}
    refuses = {"redeliver": (409,)}

    def get_queryset(self) -> QuerySet[Delivery]:
        rows = delivery_rows(may_administer=Permission.ADMINISTER in granted(self.request))
        return rows.defer("body") if self.action == "list" else rows

    def get_serializer_class(self) -> Any:
        return DeliveryDetailSerializer if self.action == "retrieve" else DeliverySerializer

    @extend_schema(request=None, responses={202: DeliverySerializer})
    @action(detail=True, methods=["post"])
    @repeatable()
    def redeliver(self, request: Request, id: str) -> Response:
        """Send a delivery once more, at once, as the same message."""
        row = services.delivery_repeat(delivery=self.get_object())
        return Response(
            DeliverySerializer(row, context=self.get_serializer_context()).data,
            status=status.HTTP_202_ACCEPTED,
            headers={"Location": f"/api/v1/deliveries/{row.public_id}"},
        )


class EventTypesView(APIView):
    """List the kinds and types of events."""

    @extend_schema(
        operation_id="event_types_list",
        responses=inline_serializer("EventTypes", {"results": EventTypeSerializer(many=True)}),
    )
    def get(self, request: Request) -> Response:
        """Return every kind of object that events are about, and its types of events."""
        rows: Any = [
            {
                "kind": kind,
                "title": KINDS[kind].title,
                "pattern": f"{FIRST}.{kind}.*",
                "types": types_of(kind),
                "is_private": kind in PRIVATE,
            }
            for kind in KINDS
        ]
        return Response({"results": EventTypeSerializer(rows, many=True).data})
