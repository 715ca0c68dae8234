"""Page the members of a suggestion, which are sorted names and no rows."""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rest_framework.exceptions import NotFound
from rest_framework.request import Request

from apps.common.api.forms import refuse_unknown
from apps.common.api.pagination import CursorPages, list_parameters

if TYPE_CHECKING:
    # At run time this module is imported while rest_framework.views is still being loaded.
    from rest_framework.views import APIView


@dataclass(frozen=True, slots=True)
class Named:
    """Stand for a row where a cursor is made."""

    publisher: str


class NamePages(CursorPages):
    """Read the parameters of every other list; the cursor holds the name that a page ends with."""

    def paginate_queryset(
        self, queryset: Any, request: Request, view: "APIView | None" = None
    ) -> list[Any] | None:
        assert view is not None
        refuse_unknown(request.query_params, list_parameters(view), "query parameter")
        names: list[str] = queryset
        self.count, self.request = len(names), request
        self.ordering_now = ("publisher",)
        size = self.get_page_size(request) or self.page_size
        backwards, values = self._position(request.query_params.get(self.cursor_query_param, ""))
        first, last = 0, size
        if values is not None:
            (at,) = values
            if at is None:
                raise NotFound("This cursor leads nowhere; start at the first page.")
            if backwards:
                last = bisect_left(names, at)
                first = max(0, last - size)
            else:
                first = bisect_right(names, at)
                last = first + size
        self.rows = [Named(name) for name in names[first:last]]
        self.has_next = last < len(names) and bool(self.rows)
        self.has_previous = first > 0 and bool(self.rows)
        return self.rows
