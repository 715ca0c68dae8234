"""Serve executions over the REST API."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar
from uuid import UUID

from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.permissions import actor_of
from apps.accounts.domain.roles import Permission
from apps.common.api.filters import ChangedFilter, NameSearch, Ordering
from apps.common.api.preconditions import repeatable
from apps.executions import services
from apps.executions.api.serializers import (
    EXECUTION_STATES,
    DecideSerializer,
    ExecutionDetailSerializer,
    ExecutionReasonSerializer,
    ExecutionSerializer,
    ResumeSerializer,
)
from apps.executions.models import Execution
from apps.executions.selectors import executions_counted, executions_in_full
from apps.executions.services.decide import action_decide


class ExecutionFilter(ChangedFilter):
    """Filter executions by plan, system and state."""

    plan = filters.UUIDFilter(field_name="subject_id")
    system = filters.UUIDFilter(field_name="system__public_id")
    state = filters.MultipleChoiceFilter(choices=EXECUTION_STATES)

    class Meta:
        model = Execution
        fields: list[str] = []


class ExecutionViewSet(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[Execution]
):
    """List plans being carried out: every step and action, and what they wait for."""

    words: ClassVar[Mapping[str, str]] = {
        "retrieve": "Return one execution: every step and action, and what they wait for."
    }
    queryset = Execution.objects.all()
    serializer_class = ExecutionSerializer
    filterset_class = ExecutionFilter
    filter_backends = [filters.DjangoFilterBackend, NameSearch, Ordering]
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    lookup_value_converter = "uuid"
    search_fields = ["subject_name", "subject_title", "system__name"]
    ordering_fields = ["created_at", "ended_at", "state"]
    ordering = ["-id"]
    needs = dict.fromkeys(
        ["pause", "resume", "stop", "roll_back", "decide"], Permission.EXECUTE_PLAN
    )

    def get_queryset(self) -> Any:
        return executions_counted() if self.action == "list" else executions_in_full()

    def get_serializer_class(self) -> Any:
        return ExecutionSerializer if self.action == "list" else ExecutionDetailSerializer

    def _command(
        self,
        request: Request,
        command: Callable[..., Execution],
        form: serializers.Serializer[Any],
    ) -> Response:
        form.is_valid(raise_exception=True)
        command(execution=self.get_object(), actor=actor_of(request), **form.validated_data)
        return Response(self.get_serializer(self.get_object()).data)

    @extend_schema(request=ExecutionReasonSerializer, responses=ExecutionDetailSerializer)
    @action(detail=True, methods=["post"])
    @repeatable()
    def pause(self, request: Request, id: str) -> Response:
        """Pause: begin no further step; the running one ends first."""
        return self._command(
            request, services.execution_pause, ExecutionReasonSerializer(data=request.data)
        )

    @extend_schema(request=ResumeSerializer, responses=ExecutionDetailSerializer)
    @action(detail=True, methods=["post"])
    @repeatable()
    def resume(self, request: Request, id: str) -> Response:
        """Resume a paused execution; outside a maintenance window only with a reason."""
        return self._command(
            request, services.execution_resume, ResumeSerializer(data=request.data)
        )

    @extend_schema(request=ExecutionReasonSerializer, responses=ExecutionDetailSerializer)
    @action(detail=True, methods=["post"])
    @repeatable()
    def stop(self, request: Request, id: str) -> Response:
        """Stop after the running step; what is done stays done."""
        return self._command(
            request, services.execution_stop, ExecutionReasonSerializer(data=request.data)
        )

    @extend_schema(request=ExecutionReasonSerializer, responses=ExecutionDetailSerializer)
    @action(detail=True, methods=["post"], url_path="roll-back")
    @repeatable()
    def roll_back(self, request: Request, id: str) -> Response:
        """End after the running step and undo what is done, last first; waits for no window."""
        return self._command(
            request, services.execution_roll_back, ExecutionReasonSerializer(data=request.data)
        )

    @extend_schema(request=DecideSerializer, responses=ExecutionDetailSerializer)
    @action(detail=True, methods=["post"], url_path="actions/<uuid:action_id>/decide")
    @repeatable()
    def decide(self, request: Request, id: str, action_id: UUID) -> Response:
        """End an action that waits, as its `decisions` allow now; the audit keeps the reason."""
        given = DecideSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        action_decide(
            execution=self.get_object(),
            action=action_id,
            actor=actor_of(request),
            outcome=given.validated_data["outcome"],
            reason=given.validated_data["reason"],
        )
        return Response(self.get_serializer(self.get_object()).data)
