"""Page lists with cursors that stay stable while rows come and go, and count the total for the
heading."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.core.exceptions import FieldError, ValidationError
from django.db.models import Q, QuerySet
from rest_framework.exceptions import NotFound
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from apps.common.api.forms import refuse_unknown

if TYPE_CHECKING:
    # At run time this module is imported while rest_framework.views is still being loaded.
    from rest_framework.views import APIView

Values = list[str | None]


def _value(row: Any, path: str) -> str | None:
    """Return the value of the row at a path such as `topic__name`, as text."""
    for part in path.split("__"):
        row = getattr(row, part, None)
    return None if row is None else str(row)


def _after(ordering: tuple[str, ...], values: Values) -> Q:
    """Return the condition for rows after these values. Postgres puts missing values last, and
    first in `-name`."""
    behind, same = Q(pk__in=[]), Q()
    for term, value in zip(ordering, values, strict=True):
        name = term.removeprefix("-")
        absent = Q(**{f"{name}__isnull": True})
        if term.startswith("-"):
            here = ~absent if value is None else Q(**{f"{name}__lt": value})
        else:
            here = Q(pk__in=[]) if value is None else Q(**{f"{name}__gt": value}) | absent
        behind |= same & here
        same &= absent if value is None else Q(**{name: value})
    return behind


def _turned(ordering: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(t.removeprefix("-") if t.startswith("-") else f"-{t}" for t in ordering)


def list_parameters(view: Any) -> set[str]:
    """Return the parameters that a list accepts, with those that the view names in
    `query_parameters`."""
    filterset = getattr(view, "filterset_class", None)
    return {
        *("cursor", "page_size", "format"),
        *getattr(filterset, "base_filters", ()),
        *(getattr(view, "filterset_fields", None) or ()),
        *(["search"] if getattr(view, "search_fields", None) else ()),
        *(["ordering"] if getattr(view, "ordering_fields", None) else ()),
        *getattr(view, "query_parameters", ()),
    }


class CursorPages(CursorPagination):
    """Read `?cursor=` and `?page_size=` up to 500; answer `{count, next, previous, results}`.

    A cursor holds every value that the order compares, so that neither repeated nor missing
    values make a page skip or repeat a row (the framework's own compares the first one only).
    """

    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 500
    ordering = "id"

    def paginate_queryset(
        self, queryset: Any, request: Request, view: "APIView | None" = None
    ) -> list[Any] | None:
        assert view is not None
        refuse_unknown(request.query_params, list_parameters(view), "query parameter")
        self.count = queryset.count()
        self.request = request
        size = self.get_page_size(request) or self.page_size
        self.ordering_now = self.get_ordering(request, queryset, view)
        backwards, values = self._position(request.query_params.get(self.cursor_query_param, ""))
        order = _turned(self.ordering_now) if backwards else self.ordering_now
        rows = queryset.order_by(*order)
        try:
            if values is not None:
                rows = rows.filter(_after(order, values))
            page = list(rows[: size + 1])
        except (ValueError, TypeError, ValidationError, FieldError) as error:
            raise NotFound("This cursor leads nowhere; start at the first page.") from error
        more, page = len(page) > size, page[:size]
        self.rows = page[::-1] if backwards else page
        self.has_next = bool(page) and (backwards or more)
        self.has_previous = bool(page) and (more if backwards else values is not None)
        return self.rows

    def _position(self, cursor: str) -> tuple[bool, Values | None]:
        if not cursor:
            return False, None
        try:
            backwards, values = json.loads(urlsafe_b64decode(cursor.encode()))
            fits = len(values) == len(self.ordering_now) and all(
                v is None or (isinstance(v, str) and "\x00" not in v) for v in values
            )
        except (ValueError, TypeError) as error:
            raise NotFound("This cursor leads nowhere; start at the first page.") from error
        if not fits:
            raise NotFound("This cursor is of another order; start at the first page.")
        return bool(backwards), values

    def _link(self, row: Any, *, backwards: bool) -> str:
        values = [_value(row, term.removeprefix("-")) for term in self.ordering_now]
        return self._address([backwards, values])

    def _address(self, position: list[Any]) -> str:
        cursor = urlsafe_b64encode(json.dumps(position).encode()).decode()
        address = self.request.build_absolute_uri()
        return str(replace_query_param(address, self.cursor_query_param, cursor))

    def get_next_link(self) -> str | None:
        return self._link(self.rows[-1], backwards=False) if self.has_next else None

    def get_previous_link(self) -> str | None:
        return self._link(self.rows[0], backwards=True) if self.has_previous else None

    def get_ordering(
        self, request: Request, queryset: QuerySet[Any], view: "APIView"
    ) -> tuple[str, ...]:
        """Return the caller's ordering, completed by the key so that equal rows keep their
        place."""
        ordering = tuple(super().get_ordering(request, queryset, view))
        return ordering if ordering[-1] in ("id", "-id") else (*ordering, "id")

    def get_paginated_response(self, data: Any) -> Response:
        return Response(
            {
                "count": self.count,
                "next": self.get_next_link(),
                "previous": self.get_previous_link(),
                "results": data,
            }
        )

    def get_schema_operation_parameters(self, view: "APIView") -> list[dict[str, Any]]:
        """Describe the parameters of the cursor and the page size."""
        parameters: list[dict[str, Any]] = super().get_schema_operation_parameters(view)
        for parameter in parameters:
            if parameter["name"] == self.cursor_query_param:
                parameter["description"] = (
                    "Where a page begins: left out, at the first row. Do not make one: follow "
                    "`next` of the page before until it is null, or `previous` to go back. Both "
                    "are whole addresses with the same filters, order and page size; rows that "
                    "come and go meanwhile make no page skip or repeat one."
                )
            if parameter["name"] == self.page_size_query_param:
                bounds = {"minimum": 1, "maximum": self.max_page_size, "default": self.page_size}
                parameter["schema"].update(bounds)
                parameter["description"] = (
                    "Rows on a page. More than the maximum gives the maximum; "
                    "what is no such number gives the default."
                )
        return parameters

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        link = {"type": "string", "nullable": True, "format": "uri"}
        after = {**link, "description": "Address of the next page; null on the last one."}
        before = {**link, "description": "Address of the page before; null on the first one."}
        return {
            "type": "object",
            "required": ["count", "next", "previous", "results"],
            "properties": {
                "count": {"type": "integer", "description": "Rows on all pages together."},
                "next": after,
                "previous": before,
                "results": schema,
            },
        }


class PlacePages(CursorPages):
    """Page rows that were computed and do not change: a cursor is a place among them."""

    def paginate_queryset(
        self, queryset: Any, request: Request, view: "APIView | None" = None
    ) -> list[Any] | None:
        assert view is not None
        refuse_unknown(request.query_params, list_parameters(view), "query parameter")
        everything: Sequence[Any] = queryset
        self.count, self.request = len(everything), request
        self.ordering_now = ("place",)
        size = self.get_page_size(request) or self.page_size
        backwards, values = self._position(request.query_params.get(self.cursor_query_param, ""))
        # Backwards a cursor names the place behind the page, as `_link` writes it.
        place = 0 if values is None else self._place(values, least=int(backwards))
        self.first = max(place - size, 0) if backwards else place
        self.last = place if backwards else min(place + size, self.count)
        self.has_previous, self.has_next = self.first > 0, self.last < self.count
        self.rows = list(everything[self.first : self.last])
        return self.rows

    def _place(self, values: Values, *, least: int) -> int:
        """Return the place that a cursor names. Raises NotFound where no page begins there."""
        (place,) = values
        if place and place.isascii() and place.isdecimal() and len(place) < 10:
            number = int(place)
            if least <= number < self.count + least:
                return number
        raise NotFound("This cursor leads nowhere; start at the first page.")

    def _link(self, row: Any, *, backwards: bool) -> str:
        place = self.first if backwards else self.last
        return self._address([backwards, [str(place)]])
