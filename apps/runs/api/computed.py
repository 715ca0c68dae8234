"""Share what all kinds whose row exists before its answer have in common."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, status, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.permissions import actor_of
from apps.accounts.domain.roles import Permission
from apps.common.api.filters import ChangedSince, CreatedFilter
from apps.common.api.preconditions import etag, repeatable
from apps.runs.api.views import CancelSerializer, cancel_reason
from apps.runs.models import Computed
from apps.runs.services.computations import computation_cancel, run_again


def computed_schema(serializer: type[Any]) -> Callable[[type[Any]], type[Any]]:
    """Return a decorator that puts the answers of a view's commands into the schema."""
    answers = {202: serializer}
    return extend_schema_view(
        cancel=extend_schema(request=CancelSerializer, responses=answers),
        rerun=extend_schema(request=None, responses=answers),
    )


class ComputedFilter(CreatedFilter):
    """Narrow a list of what runs computed to a time; a change of the run is one of the row."""

    updated_since = ChangedSince("updated_at", "run__updated_at")


class ComputedViewSet(mixins.ListModelMixin, viewsets.GenericViewSet[Any]):
    """Read, cancel and rerun rows that wait for the answer of their run."""

    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    lookup_value_converter = "uuid"
    ordering = ["-id"]
    needs: ClassVar[Mapping[str, Permission]] = dict.fromkeys(
        ["create", "cancel", "rerun"], Permission.START_RUN
    )
    words: ClassVar[Mapping[str, str]] = {}
    """Descriptions of `cancel` and `rerun` for the schema, where there is more to say than here."""
    detail_serializer: type[Any]
    address: str
    """The address of the rows, as the kind registers it."""

    def rows(self) -> QuerySet[Any]:
        """Return the rows with all that their representation shows."""
        raise NotImplementedError

    def answer(self, row: Computed, http_status: int = status.HTTP_200_OK) -> Response:
        """Return the row as it is now; 202 gives its address."""
        fresh = self.rows().get(pk=row.pk)
        body = self.detail_serializer(fresh, context=self.get_serializer_context()).data
        headers = {"ETag": etag(fresh.version)} if hasattr(fresh, "version") else {}
        if http_status == status.HTTP_202_ACCEPTED:
            headers["Location"] = f"{self.address}/{fresh.public_id}"
        return Response(body, status=http_status, headers=headers)

    @action(detail=True, methods=["post"])
    @repeatable()
    def cancel(self, request: Request, id: str) -> Response:
        """Cancel the run and its Spark job; answers so far stay."""
        reason, row = cancel_reason(request), self.get_object()
        computation_cancel(run=row.run, actor=actor_of(request), reason=reason)
        return self.answer(row, status.HTTP_202_ACCEPTED)

    @action(detail=True, methods=["post"])
    @repeatable()
    def rerun(self, request: Request, id: str) -> Response:
        """Run the same question on the same snapshot again."""
        row = self.get_object()
        run_again(run=row.run, actor=actor_of(request))
        return self.answer(row, status.HTTP_202_ACCEPTED)
