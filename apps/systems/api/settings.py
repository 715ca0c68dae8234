"""Serve settings over the REST API: one row per system, shown and edited with its version."""

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from django.db import models
from rest_framework import viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.permissions import actor_of
from apps.common.api.filters import Ordering, UpdatedSince
from apps.common.api.forms import changes
from apps.common.api.preconditions import etag, expected_version

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
