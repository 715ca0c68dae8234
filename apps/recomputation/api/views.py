"""Serve schedules, triggers, firings and what Weir carries out by itself over the REST API."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.utils import timezone
from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, status, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.api.permissions import actor_of
from apps.accounts.domain.roles import Permission
from apps.accounts.models import User
from apps.common.api.filters import ChangedFilter, CreatedFilter, NameSearch, Ordering
from apps.common.api.forms import changes
from apps.common.api.preconditions import expected_version, repeatable
from apps.common.api.versioned import VersionedViewSet
from apps.recomputation.api.serializers import (
    FIRING_STATES,
    SUBJECTS,
    AutomaticDecisionSerializer,
    AutomationQuery,
    AutomationSerializer,
    FiringSerializer,
    SchedulePreviewQuery,
    SchedulePreviewSerializer,
    ScheduleSerializer,
    TriggerSerializer,
)
from apps.recomputation.models import AutomaticDecision, Choice, End, Firing, Schedule, Trigger
from apps.recomputation.selectors import (
    firing_rows,
    last_firings,
    preview,
    schedule_rows,
    trigger_rows,
)
from apps.recomputation.selectors.automatic import automation_of, decision_rows
from apps.recomputation.services import (
    rule_delete,
    schedule_create,
    schedule_run,
    schedule_update,
    trigger_create,
    trigger_update,
)
from apps.systems.api.entities import IF_MATCH, REASON, reason_of


class RuleViewSet(VersionedViewSet[Any]):
    """Serve what schedules and triggers have in common."""

    ordering = ["name", "id"]
    needs = dict.fromkeys(["create", "partial_update", "destroy", "run"], Permission.PROPOSE_PLAN)
    make: Callable[..., Any]
    change: Callable[..., Any]

    def _body(self, rows: Sequence[Any], *, many: bool) -> Any:
        context = {**self.get_serializer_context(), "firings": last_firings(rows)}
        serializer = self.get_serializer_class()
        return serializer(rows if many else rows[0], many=many, context=context).data

    @repeatable()
    def create(self, request: Request) -> Response:
        """Add a schedule or trigger to a system."""
        values, reason = self._checked(request)
        values.pop("take_over", None)
        row = type(self).make(actor=actor_of(request), reason=reason, **values)
        return self._answer(row, status.HTTP_201_CREATED)

    @extend_schema(parameters=[IF_MATCH])
    def partial_update(self, request: Request, id: str) -> Response:
        """Change the given members; with `take_over` the caller becomes responsible for its
        plans."""
        version = expected_version(request)
        row = self.get_object()
        values, reason = self._checked(request, row)
        take_over = values.pop("take_over", False)
        return self._answer(
            type(self).change(
                row,
                actor=actor_of(request),
                expected_version=version,
                values=values,
                take_over=take_over,
                reason=reason,
            )
        )

    @extend_schema(parameters=[IF_MATCH, REASON])
    def destroy(self, request: Request, id: str) -> Response:
        """Delete the rule; the record of its firings stays."""
        rule_delete(
            rule=self.get_object(),
            actor=actor_of(request),
            expected_version=expected_version(request),
            reason=reason_of(request),
        )
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _checked(self, request: Request, row: Any = None) -> tuple[dict[str, Any], str]:
        form = self.get_serializer_class()(
            row, data=request.data, partial=row is not None, context=self.get_serializer_context()
        )
        return changes(form)


class ScheduleFilter(ChangedFilter):
    """Filter schedules by their system."""

    system = filters.UUIDFilter(field_name="system__public_id")
    subject = filters.ChoiceFilter(choices=SUBJECTS)

    class Meta:
        model = Schedule
        fields = ["enabled"]


class ScheduleViewSet(RuleViewSet):
    """Manage schedules that compute a system again."""

    queryset = schedule_rows()
    serializer_class = ScheduleSerializer
    filterset_class = ScheduleFilter

    def get_queryset(self) -> QuerySet[Any]:
        return schedule_rows()

    @staticmethod
    def make(*, actor: User, reason: str, system: Any, **values: Any) -> Schedule:
        """Create a schedule through the service."""
        return schedule_create(system=system, actor=actor, values=values, reason=reason)

    @staticmethod
    def change(row: Schedule, **values: Any) -> Schedule:
        """Change a schedule through the service."""
        return schedule_update(schedule=row, **values)

    @extend_schema(request=None, responses={202: FiringSerializer})
    @action(detail=True, methods=["post"])
    @repeatable()
    def run(self, request: Request, id: str) -> Response:
        """Fire the schedule now; its own times do not move."""
        firing = schedule_run(schedule=self.get_object(), actor=actor_of(request))
        body = FiringSerializer(firing_rows().get(pk=firing.pk)).data
        location = {"Location": f"/api/v1/recomputation/firings/{firing.public_id}"}
        return Response(body, status=status.HTTP_202_ACCEPTED, headers=location)


class TriggerFilter(ChangedFilter):
    """Filter triggers by system and kind."""

    system = filters.UUIDFilter(field_name="system__public_id")
    subject = filters.ChoiceFilter(choices=SUBJECTS)

    class Meta:
        model = Trigger
        fields = ["enabled", "kind"]


class TriggerViewSet(RuleViewSet):
    """Manage triggers that compute a system again, with the values that they see now."""

    queryset = trigger_rows()
    serializer_class = TriggerSerializer
    filterset_class = TriggerFilter

    def get_queryset(self) -> QuerySet[Any]:
        return trigger_rows()

    @staticmethod
    def make(*, actor: User, reason: str, system: Any, **values: Any) -> Trigger:
        """Create a trigger through the service."""
        return trigger_create(system=system, actor=actor, values=values, reason=reason)

    @staticmethod
    def change(row: Trigger, **values: Any) -> Trigger:
        """Change a trigger through the service."""
        return trigger_update(trigger=row, **values)


class FiringFilter(CreatedFilter):
    """Filter firings by system, schedule, trigger and state."""

    system = filters.UUIDFilter(field_name="system__public_id")
    schedule = filters.UUIDFilter(field_name="schedule__public_id")
    trigger = filters.UUIDFilter(field_name="trigger__public_id")
    state = filters.MultipleChoiceFilter(choices=FIRING_STATES)
    subject = filters.ChoiceFilter(choices=SUBJECTS)

    class Meta:
        model = Firing
        fields: list[str] = []


class FiringViewSet(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[Firing]
):
    """List every time that something was computed again automatically, and its outcome."""

    words: ClassVar[Mapping[str, str]] = {
        "retrieve": "Return one time that something was computed again automatically."
    }
    queryset = firing_rows()
    serializer_class = FiringSerializer
    filterset_class = FiringFilter
    filter_backends = [filters.DjangoFilterBackend, NameSearch, Ordering]
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    lookup_value_converter = "uuid"
    search_fields = ["cause", "why", "detail"]
    ordering_fields = ["created_at"]
    ordering = ["-id"]


class AutomaticDecisionFilter(ChangedFilter):
    """Filter decisions by system, plan, choice and end."""

    system = filters.UUIDFilter(field_name="system__public_id")
    plan = filters.UUIDFilter(field_name="plan__public_id")
    choice = filters.MultipleChoiceFilter(choices=Choice.choices)
    end = filters.MultipleChoiceFilter(choices=End.choices)

    class Meta:
        model = AutomaticDecision
        fields: list[str] = []


class AutomaticDecisionViewSet(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[AutomaticDecision]
):
    """List what was decided about carrying plans out without a person, and what became of it."""

    words: ClassVar[Mapping[str, str]] = {
        "retrieve": "Return what was decided about carrying one plan out without a person."
    }
    queryset = decision_rows()
    serializer_class = AutomaticDecisionSerializer
    filterset_class = AutomaticDecisionFilter
    filter_backends = [filters.DjangoFilterBackend, Ordering]
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    lookup_value_converter = "uuid"
    ordering_fields = ["created_at"]
    ordering = ["-id"]


class AutomationView(APIView):
    """Show how far Weir may act by itself in a system."""

    @extend_schema(
        operation_id="automation_retrieve",
        parameters=[AutomationQuery],
        responses=AutomationSerializer,
    )
    def get(self, request: Request) -> Response:
        """Return how far Weir may act by itself, and what came of it in 30 days.

        Of a dry run it is added up what the plans promised that Weir would have carried out, each
        as long as it would have held: until the next one, or until it was stale, replaced, or
        carried out by people.
        """
        form = AutomationQuery(data=request.query_params.dict())
        form.is_valid(raise_exception=True)
        automation = automation_of(form.validated_data["system"], timezone.now())
        return Response(AutomationSerializer(automation).data)


class SchedulePreviewView(APIView):
    """Preview the times of a schedule."""

    @extend_schema(
        operation_id="recomputation_preview_retrieve",
        parameters=[SchedulePreviewQuery],
        responses=SchedulePreviewSerializer,
    )
    def get(self, request: Request) -> Response:
        """Return a schedule in plain words, and its next five times."""
        form = SchedulePreviewQuery(data=request.query_params)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        times = preview(every_s=given["every_s"], cron=given["cron"], zone=given["timezone"])
        return Response(SchedulePreviewSerializer(times).data)
