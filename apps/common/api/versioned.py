"""Serve rows that are read by their public id and changed by their version."""

from collections.abc import Sequence
from typing import Any, TypeVar

from django.db.models import Model
from django_filters import rest_framework as filters
from rest_framework import status, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from apps.common.api.filters import NameSearch, Ordering
from apps.common.api.preconditions import etag

M = TypeVar("M", bound=Model)


class VersionedViewSet(viewsets.GenericViewSet[M]):
    """Rows by page, and each with its version as ETag, which whoever changes it names."""

    filter_backends: list[Any] = [filters.DjangoFilterBackend, NameSearch, Ordering]
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    lookup_value_converter = "uuid"
    search_fields = ["name"]
    ordering_fields: list[str] = ["name", "created_at", "updated_at"]
    ordering = ["name"]

    def list(self, request: Request) -> Response:
        """List the rows by page."""
        page: Any = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        return self.get_paginated_response(self._body(list(page), many=True))

    def retrieve(self, request: Request, id: str) -> Response:
        """Return one row with its ETag."""
        return self._answer(self.get_object())

    def _body(self, rows: Sequence[Any], *, many: bool) -> Any:
        """Return the rows, or the only one, as callers read them."""
        return self.get_serializer(rows if many else rows[0], many=many).data

    def _answer(self, row: Any, http_status: int = status.HTTP_200_OK) -> Response:
        """Return the row as it is now, with its address where it is new or shows the progress."""
        fresh: Any = self.get_queryset().get(pk=row.pk)
        headers = {"ETag": etag(fresh.version)}
        path = self.request.path.rstrip("/")
        if http_status == status.HTTP_201_CREATED:
            headers["Location"] = f"{path}/{fresh.public_id}"
        elif http_status == status.HTTP_202_ACCEPTED:
            # A command's own address is one step below that of its object.
            headers["Location"] = path.rpartition("/")[0]
        return Response(self._body([fresh], many=False), status=http_status, headers=headers)
