"""Serve settings over the REST API: one row per system, shown and edited with its version."""

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from django.db import models
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, viewsets
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.permissions import actor_of
from apps.accounts.domain.roles import Permission
from apps.common.api.filters import Ordering, UpdatedSince
from apps.common.api.forms import changes, parameter, refuse_unknown
from apps.common.api.pagination import list_parameters
from apps.common.api.preconditions import etag, expected_version
from apps.systems.api.entities import IF_MATCH
from apps.systems.models import System

S = TypeVar("S", bound=models.Model)


class SettingsViewSet(viewsets.GenericViewSet[S]):
    """Show and edit settings; a subclass lists its rows and names the service that edits one.

    Those that belong to what a system is, and not to how it is run, name the member that holds
    them in the document of a whole system (`document_member`).
    """

    document_member: ClassVar[str] = ""
    settings_of: ClassVar[Callable[..., Any]]
    """Takes a system and returns its row, unsaved defaults where nobody has set any."""
    settings_update: ClassVar[Callable[..., Any]]
    """Changes members of `settings`, as `row_update` does."""
    filter_backends = [UpdatedSince, Ordering]
    query_parameters = ["system", "updated_since"]
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    lookup_value_converter = "uuid"
    ordering_fields = ["updated_at"]
    ordering = ["id"]

    def answer(self, row: Any) -> Response:
        """Return the row with its ETag."""
        return Response(self.get_serializer(row).data, headers={"ETag": etag(row.version)})

    def edit(self, request: Request, service: Callable[..., S]) -> Response:
        """Change the members of the body. `service` takes the row and the rest by name."""
        version = expected_version(request)
        row = self.get_object()
        values, reason = changes(self.get_serializer(row, data=request.data, partial=True))
        return self.answer(
            service(
                row,
                actor=actor_of(request),
                expected_version=version,
                values=values,
                reason=reason,
            )
        )


class SystemSettingsViewSet(SettingsViewSet[S]):
    """Manage one row of settings per system: the defaults until somebody changes them."""

    needs = {"partial_update": Permission.EDIT_MODEL}

    @extend_schema(
        parameters=[
            OpenApiParameter("system", OpenApiTypes.UUID, description="Of this system alone.")
        ]
    )
    def list(self, request: Request) -> Response:
        """List settings that were changed; with `system` exactly that system's, the defaults,
        too."""
        refuse_unknown(request.query_params, list_parameters(self), "query parameter")
        system_id = parameter(request, "system", serializers.UUIDField())
        if system_id:
            row = self.settings_of(get_object_or_404(System, public_id=system_id))
            since = UpdatedSince().moment(request)
            rows = [row] if since is None or row.updated_at >= since else []
            one = {"count": len(rows), "next": None, "previous": None}
            return Response({**one, "results": self.get_serializer(rows, many=True).data})
        page: Any = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    def get_object(self) -> Any:
        """Return a row, or the defaults of the system whose id stands in for one that nobody
        made."""
        row = self.get_queryset().filter(public_id=self.kwargs["id"]).first()
        return row or self.settings_of(get_object_or_404(System, public_id=self.kwargs["id"]))

    def retrieve(self, request: Request, id: str) -> Response:
        """Return one row with its ETag."""
        return self.answer(self.get_object())

    @extend_schema(parameters=[IF_MATCH])
    def partial_update(self, request: Request, id: str) -> Response:
        """Change the given members of the settings."""
        return self.edit(
            request, lambda row, **change: self.settings_update(settings=row, **change)
        )
