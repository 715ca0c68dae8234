"""Serve systems over the REST API."""

from typing import Any

from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.permissions import actor_of, granted
from apps.accounts.domain.roles import Permission
from apps.common.api.fields import choices, command_list
from apps.common.api.filters import NameSearch, Ordering
from apps.common.api.forms import Form, changes
from apps.common.api.preconditions import etag, expected_version, repeatable
from apps.systems.api.entities import (
    IF_MATCH,
    REASON,
    LabelledFilter,
    LabelledSerializer,
    object_commands,
    reason_of,
)
from apps.systems.models import (
    LEAST_RETENTION_S,
    MOST_RETENTION_S,
    System,
    UnmanagedAccess,
)
from apps.systems.services import (
    retention_set,
    system_create,
    system_delete,
    system_update,
    unmanaged_set,
)

SYSTEM_COMMANDS = choices("edit", "delete", "add", "optimize", "set_access", "set_retention")


class SystemSerializer(LabelledSerializer[System]):
    """Describe a system; `allowed_commands` also says whether the caller may add objects to it and
    optimize it."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    product_name = serializers.CharField(source="get_product_display", read_only=True)
    model_only = serializers.BooleanField(
        read_only=True,
        help_text="No agent has a driver for the product: plans cannot be carried out.",
    )
    allowed_commands = serializers.SerializerMethodField()
    reason = serializers.CharField(
        write_only=True, required=False, allow_blank=True, max_length=500
    )

    class Meta:
        model = System
        fields = [
            "id",
            "name",
            "external_id",
            "labels",
            "description",
            "product",
            "product_name",
            "model_only",
            "resources",
            "model_version",
            "version",
            "unmanaged",
            "retention_s",
            "created_at",
            "updated_at",
            "allowed_commands",
            "reason",
        ]
        read_only_fields = ["model_version", "version", "unmanaged", "retention_s"]

    @extend_schema_field(command_list(SYSTEM_COMMANDS))
    def get_allowed_commands(self, system: System) -> list[str]:
        request = self.context.get("request")
        commands = object_commands(request)
        if commands:
            commands = [*commands, "add"]
        if request is not None and Permission.START_RUN in granted(request):
            commands.append("optimize")
        if request is not None and Permission.ADMINISTER in granted(request):
            commands += ["set_access", "set_retention"]
        return commands

    def validate_resources(self, value: list[str]) -> list[str]:
        if len(set(value)) != len(value):
            raise serializers.ValidationError("A resource is named twice.")
        return value


class RetentionSerializer(Form[dict[str, Any]]):
    """Read how long brokers keep delivered reliable messages."""

    retention_s = serializers.IntegerField(
        min_value=LEAST_RETENTION_S, max_value=MOST_RETENTION_S, help_text="In seconds."
    )
    confirm = serializers.BooleanField(
        default=False, help_text="Needed for what is shorter than the present retention."
    )
    reason = serializers.CharField(required=False, allow_blank=True, max_length=500, default="")


class AccessSerializer(Form[dict[str, Any]]):
    """Read what clients that belong to no consumer class may do at the brokers."""

    unmanaged = serializers.ChoiceField(choices=UnmanagedAccess.choices)
    confirm = serializers.BooleanField(
        default=False, help_text="Needed for what opens the brokers further than they are now."
    )
    reason = serializers.CharField(required=False, allow_blank=True, max_length=500, default="")


class SystemFilter(LabelledFilter):
    """Filter the list of systems by product."""

    class Meta:
        model = System
        fields = ["product", "name"]


class SystemViewSet(viewsets.GenericViewSet[System]):
    """Create, list, change and delete messaging systems."""

    queryset = System.objects.all()
    serializer_class = SystemSerializer
    filterset_class = SystemFilter
    filter_backends = [filters.DjangoFilterBackend, NameSearch, Ordering]
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    lookup_value_converter = "uuid"
    search_fields = ["name", "external_id", "description"]
    ordering_fields = ["name", "product", "updated_at", "created_at"]
    ordering = ["name"]
    needs = {
        **dict.fromkeys(["create", "partial_update", "destroy"], Permission.EDIT_MODEL),
        "access": Permission.ADMINISTER,
        "retention": Permission.ADMINISTER,
    }

    def _answer(self, system: System, http_status: int = status.HTTP_200_OK) -> Response:
        headers = {"ETag": etag(system.version)}
        if http_status == status.HTTP_201_CREATED:
            headers["Location"] = f"{self.request.path.rstrip('/')}/{system.public_id}"
        return Response(self.get_serializer(system).data, status=http_status, headers=headers)

    def list(self, request: Request) -> Response:
        """List all systems, by page."""
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    def retrieve(self, request: Request, id: str) -> Response:
        """Return one system with its ETag."""
        return self._answer(self.get_object())

    @repeatable()
    def create(self, request: Request) -> Response:
        """Start to manage a system."""
        values, reason = self._checked(request)
        system = system_create(actor=actor_of(request), values=values, reason=reason)
        return self._answer(system, status.HTTP_201_CREATED)

    @extend_schema(parameters=[IF_MATCH])
    def partial_update(self, request: Request, id: str) -> Response:
        """Rename or describe a system, or change its resources."""
        version = expected_version(request)
        system = self.get_object()
        values, reason = self._checked(request, system)
        return self._answer(
            system_update(
                system=system,
                actor=actor_of(request),
                expected_version=version,
                values=values,
                reason=reason,
            )
        )

    @extend_schema(request=AccessSerializer, responses=SystemSerializer, parameters=[IF_MATCH])
    @action(detail=True, methods=["put"])
    def access(self, request: Request, id: str) -> Response:
        """Set what unmanaged clients may do, in force at once. None of them ever receives Weir's
        subjects, and a wrong password is always refused."""
        version = expected_version(request)
        form = AccessSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        system = unmanaged_set(
            system=self.get_object(),
            actor=actor_of(request),
            expected_version=version,
            unmanaged=given["unmanaged"],
            confirmed=given["confirm"],
            reason=given["reason"],
        )
        return self._answer(system)

    @extend_schema(request=RetentionSerializer, responses=SystemSerializer, parameters=[IF_MATCH])
    @action(detail=True, methods=["put"])
    def retention(self, request: Request, id: str) -> Response:
        """Set how long brokers keep delivered reliable messages, in force at once. A consumer that
        is away for longer misses messages."""
        version = expected_version(request)
        form = RetentionSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        system = retention_set(
            system=self.get_object(),
            actor=actor_of(request),
            expected_version=version,
            retention_s=given["retention_s"],
            confirmed=given["confirm"],
            reason=given["reason"],
        )
        return self._answer(system)

    @extend_schema(parameters=[IF_MATCH, REASON])
    def destroy(self, request: Request, id: str) -> Response:
        """Stop managing the system and delete its model, runs and allocations."""
        system_delete(
            system=self.get_object(),
            actor=actor_of(request),
            expected_version=expected_version(request),
            reason=reason_of(request),
        )
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _checked(
        self, request: Request, system: System | None = None
    ) -> tuple[dict[str, Any], str]:
        form = self.get_serializer(system, data=request.data, partial=system is not None)
        return changes(form)
