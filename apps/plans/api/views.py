"""Serve plans over the REST API: read what would change and why, decide, carry out."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.utils import timezone
from django_filters import rest_framework as filters
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import mixins, serializers, status, viewsets
from rest_framework.decorators import action
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.permissions import actor_of, granted, what_is_missing
from apps.accounts.domain.roles import Permission
from apps.accounts.models import User
from apps.common.api.filters import ChangedSince, CreatedFilter, NameSearch, Ordering, Person
from apps.common.api.forms import Form
from apps.common.api.preconditions import etag, expected_version, repeatable
from apps.common.errors import Conflict
from apps.executions.api.serializers import ExecutionDetailSerializer
from apps.executions.selectors import executions_in_full
from apps.plans import services
from apps.plans.api.serializers import (
    PLAN_STATES,
    AcceptOverloadSerializer,
    ApproveSerializer,
    DiscardSerializer,
    ModelPlanSerializer,
    OutcomeDetailSerializer,
    OutcomeQuery,
    OutcomesSerializer,
    PlanChecksSerializer,
    PlanDetailSerializer,
    PlanEditSerializer,
    PlanLevelsSerializer,
    PlanReasonSerializer,
    PlanSerializer,
    RejectSerializer,
    RollBackSerializer,
)
from apps.plans.domain.verdicts import Judged
from apps.plans.models import Plan
from apps.plans.selectors.export import plan_as_text, plan_json_text
from apps.plans.selectors.levels import levels_of
from apps.plans.selectors.outcomes import outcome_of, outcomes, promise_record
from apps.plans.selectors.readings import (
    Caller,
    plan_reading,
    plan_readings,
    plan_rows,
    waiting_for,
)
from apps.plans.selectors.staleness import changed_since
from apps.systems.api.entities import IF_MATCH
from weir.lifecycle.plans import PlanState

T = TypeVar("T")


def caller_of(request: Request) -> Caller:
    """Return who asks and what they may do."""
    person = request.user if isinstance(request.user, User) else None
    return Caller(person=person, permissions=granted(request))


def plan_made(request: Request, plan: Plan) -> Response:
    """Return 201 with the plan as its author reads it."""
    reading = plan_reading(plan_rows().get(pk=plan.pk), caller_of(request))
    return Response(
        PlanDetailSerializer(reading).data,
        status=status.HTTP_201_CREATED,
        headers={
            "Location": f"/api/v1/plans/{plan.public_id}",
            "ETag": etag(reading.version),
        },
    )


class PlanChangedSince(ChangedSince):
    """Narrow the list to plans of which anything that is shown was changed since."""

    def condition(self, moment: datetime) -> Q:
        return changed_since(moment)


class PlanFilter(CreatedFilter):
    """Filter plans by system, state, kind, author, time, and by whether they wait for the
    caller."""

    system = filters.UUIDFilter(field_name="system__public_id")
    state = filters.MultipleChoiceFilter(field_name="state_now", choices=PLAN_STATES)
    person = Person("author")
    change_ticket = filters.CharFilter(label="Exactly this change ticket.")
    updated_since = PlanChangedSince("updated_at")

    waiting_for = filters.ChoiceFilter(
        choices=[("me", "me")],
        method="filter_waiting",
        label="`me`: in review, and yours to decide.",
    )

    class Meta:
        model = Plan
        fields = ["kind"]

    def filter_waiting(self, plans: QuerySet[Plan], name: str, value: str) -> QuerySet[Plan]:
        """Return the plans that the caller may still approve or reject."""
        assert isinstance(self.request, Request)
        caller = caller_of(self.request)
        if caller.person is None or Permission.REVIEW_PLAN not in caller.permissions:
            return plans.none()
        return waiting_for(plans, caller.person, timezone.now())


class PlanViewSet(mixins.ListModelMixin, viewsets.GenericViewSet[Plan]):
    """Manage plans: what changes, in which order and why, and who approved it."""

    queryset = plan_rows()
    serializer_class: Any = PlanSerializer
    filterset_class = PlanFilter
    filter_backends = [filters.DjangoFilterBackend, NameSearch, Ordering]
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    lookup_value_converter = "uuid"
    search_fields = ["name", "title", "system__name", "author__username", "source_name"]
    ordering_fields = ["created_at", "submitted_at", "state", "kind", "number"]
    ordering = ["-id"]
    needs = {
        "create": Permission.PROPOSE_PLAN,
        "partial_update": Permission.PROPOSE_PLAN,
        "submit": Permission.PROPOSE_PLAN,
        "withdraw": Permission.PROPOSE_PLAN,
        "discard": Permission.PROPOSE_PLAN,
        "roll_back": Permission.PROPOSE_PLAN,
        "accept_overload": Permission.REVIEW_PLAN,
        "approve": Permission.REVIEW_PLAN,
        "reject": Permission.REVIEW_PLAN,
        "execute": Permission.EXECUTE_PLAN,
        "dry_run": Permission.READ,
    }
    refuses = {"accept_overload": (422,), "dry_run": (409,), "outcome": (409,)}

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List plans, newest first; one whose model has moved is shown as stale at once."""
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        assert page is not None
        rows = PlanSerializer(plan_readings(page, caller_of(request)), many=True).data
        return self.get_paginated_response(rows)

    def _answer(self, request: Request) -> Response:
        """Return the plan with its present state."""
        reading = plan_reading(self.get_object(), caller_of(request))
        headers = {"ETag": etag(reading.version)}
        return Response(PlanDetailSerializer(reading).data, headers=headers)

    def _carried_out(self, request: Request, command: Callable[..., T], form: type[Form[Any]]) -> T:
        """Carry out a command on the plan as the caller has seen it."""
        version = expected_version(request)
        given = form(data=request.data)
        given.is_valid(raise_exception=True)
        return command(
            plan=self.get_object(),
            actor=actor_of(request),
            expected_version=version,
            **given.validated_data,
        )

    def _command(
        self, request: Request, command: Callable[..., Any], form: type[Form[Any]]
    ) -> Response:
        """Carry out a command, and return the plan as it is afterwards."""
        self._carried_out(request, command, form)
        return self._answer(request)

    @extend_schema(request=ModelPlanSerializer, responses={201: PlanDetailSerializer})
    @repeatable()
    def create(self, request: Request) -> Response:
        """Make a draft of the plan that would bring a system's model into force as it is."""
        form = ModelPlanSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        plan = services.plan_of_model(actor=actor_of(request), **form.validated_data)
        return plan_made(request, plan)

    @extend_schema(responses=PlanDetailSerializer)
    def retrieve(self, request: Request, id: str) -> Response:
        """Return one plan with its steps, checks, decisions and history."""
        return self._answer(request)

    @extend_schema(
        parameters=[IF_MATCH], request=PlanEditSerializer, responses=PlanDetailSerializer
    )
    def partial_update(self, request: Request, id: str) -> Response:
        """Name the change ticket of a plan, in any state; what was approved stays approved."""
        return self._command(request, services.plan_set_ticket, PlanEditSerializer)

    @extend_schema(
        parameters=[IF_MATCH], request=PlanReasonSerializer, responses=PlanDetailSerializer
    )
    @action(detail=True, methods=["post"])
    @repeatable()
    def submit(self, request: Request, id: str) -> Response:
        """Send a draft for review."""
        return self._command(request, services.plan_submit, PlanReasonSerializer)

    @extend_schema(
        parameters=[IF_MATCH], request=PlanReasonSerializer, responses=PlanDetailSerializer
    )
    @action(detail=True, methods=["post"])
    @repeatable()
    def withdraw(self, request: Request, id: str) -> Response:
        """Take a plan back from review; decisions made so far end."""
        return self._command(request, services.plan_withdraw, PlanReasonSerializer)

    @extend_schema(parameters=[IF_MATCH], request=ApproveSerializer, responses=PlanDetailSerializer)
    @action(detail=True, methods=["post"])
    @repeatable()
    def approve(self, request: Request, id: str) -> Response:
        """Approve the content that `content_hash` names; not the caller's own, and not twice."""
        return self._command(request, services.plan_approve, ApproveSerializer)

    @extend_schema(parameters=[IF_MATCH], request=RejectSerializer, responses=PlanDetailSerializer)
    @action(detail=True, methods=["post"])
    @repeatable()
    def reject(self, request: Request, id: str) -> Response:
        """Reject a plan with a reason; one rejection is enough."""
        return self._command(request, services.plan_reject, RejectSerializer)

    @extend_schema(parameters=[IF_MATCH], request=DiscardSerializer, responses=PlanDetailSerializer)
    @action(detail=True, methods=["post"])
    @repeatable()
    def discard(self, request: Request, id: str) -> Response:
        """Drop a plan that was never begun."""
        return self._command(request, services.plan_discard, DiscardSerializer)

    @extend_schema(
        parameters=[IF_MATCH],
        request=PlanReasonSerializer,
        responses={202: ExecutionDetailSerializer},
    )
    @action(detail=True, methods=["post"])
    @repeatable()
    def execute(self, request: Request, id: str) -> Response:
        """Carry out an approved plan, after everything was checked once more."""
        execution = self._carried_out(request, services.plan_execute, PlanReasonSerializer)
        fresh = executions_in_full().get(pk=execution.pk)
        return Response(
            ExecutionDetailSerializer(fresh, context={"request": request}).data,
            status=status.HTTP_202_ACCEPTED,
            headers={"Location": f"/api/v1/executions/{execution.public_id}"},
        )

    @extend_schema(
        parameters=[IF_MATCH], request=AcceptOverloadSerializer, responses=PlanDetailSerializer
    )
    @action(detail=True, methods=["post"], url_path="accept-overload")
    @repeatable()
    def accept_overload(self, request: Request, id: str) -> Response:
        """Accept, with a reason, that a draft loads more than a capacity: it may be sent then."""
        return self._command(request, services.plan_accept_overload, AcceptOverloadSerializer)

    @extend_schema(
        parameters=[IF_MATCH], request=RollBackSerializer, responses={201: PlanDetailSerializer}
    )
    @action(detail=True, methods=["post"], url_path="roll-back")
    @repeatable()
    def roll_back(self, request: Request, id: str) -> Response:
        """Make a plan that rolls an executed one back; it is reviewed like any other.

        While its execution is under way, roll that back instead.
        """

        def command(**values: Any) -> Plan:
            if values["accept_overload"] and Permission.REVIEW_PLAN not in granted(request):
                missing = what_is_missing(request, Permission.REVIEW_PLAN)
                raise PermissionDenied(f"`accept_overload`: {missing}")
            return services.plan_roll_back(**values)

        return plan_made(request, self._carried_out(request, command, RollBackSerializer))

    @extend_schema(request=None, responses=PlanChecksSerializer)
    @action(detail=True, methods=["post"], url_path="dry-run")
    def dry_run(self, request: Request, id: str) -> Response:
        """Check the plan against the live state without touching anything."""
        may_decide = granted(request) & {
            Permission.PROPOSE_PLAN,
            Permission.REVIEW_PLAN,
            Permission.EXECUTE_PLAN,
        }
        found = services.plan_dry_run(
            plan=self.get_object(), actor=actor_of(request), tells=bool(may_decide)
        )
        return Response(PlanChecksSerializer({"results": found}).data)

    @extend_schema(responses=PlanLevelsSerializer)
    @action(detail=True, methods=["get"])
    def levels(self, request: Request, id: str) -> Response:
        """Return how full the brokers are at every stop of the plan, by the model.

        What nothing limits counts with all that the model lets it ask for.
        """
        return Response(PlanLevelsSerializer(levels_of(self.get_object())).data)

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "as",
                str,
                enum=["json", "text"],
                default="json",
                description="`json`: a document for programs; `text`: to paste into a ticket.",
            )
        ],
        responses={
            (200, "application/json"): OpenApiTypes.OBJECT,
            (200, "text/plain"): OpenApiTypes.STR,
        },
    )
    @action(detail=True, methods=["get"])
    def export(self, request: Request, id: str) -> HttpResponse:
        """Return the plan as a file, or as a text to paste into a ticket."""
        plan = self.get_object()
        form = serializers.ChoiceField(choices=["json", "text"])
        wanted = request.query_params.get("as", "json")
        try:
            kind = form.run_validation(wanted)
        except serializers.ValidationError as error:
            raise serializers.ValidationError({"as": error.detail}) from error
        reading = plan_reading(plan, caller_of(request))
        if kind == "text":
            return _file(plan_as_text(reading), "text/plain; charset=utf-8", f"{plan}.txt")
        return _file(plan_json_text(reading), "application/json", f"{plan}.json")

    @extend_schema(
        operation_id="plans_outcomes",
        parameters=[OutcomeQuery],
        responses=OutcomesSerializer,
        filters=False,
    )
    @action(detail=False, methods=["get"], pagination_class=None)
    def outcomes(self, request: Request) -> Response:
        """List plans executed lately: what they promised, what was measured, and whether they
        helped; beside them how often plans did so over 30 days."""
        given = request.query_params
        form = OutcomeQuery(data={**given.dict(), "judged": given.getlist("judged")})
        form.is_valid(raise_exception=True)
        query = form.validated_data
        now, system = timezone.now(), query.get("system")
        rows = outcomes(
            since=now - timedelta(days=query["days"]),
            now=now,
            system=system,
            judged=[Judged(name) for name in query["judged"]],
        )
        body = {"record": promise_record(now, system), "results": rows}
        return Response(OutcomesSerializer(body).data)

    @extend_schema(operation_id="plans_outcome", responses=OutcomeDetailSerializer, filters=False)
    @action(detail=True, methods=["get"])
    def outcome(self, request: Request, id: str) -> Response:
        """Return what came of an executed plan, part by part of its promise."""
        plan = self.get_object()
        if plan.state != PlanState.EXECUTED:
            state = plan.state.replace("_", " ")
            raise Conflict("not_in_this_state", f"{plan} is {state}: it was not executed.")
        return Response(OutcomeDetailSerializer(outcome_of(plan, timezone.now())).data)


def _file(text: str, content_type: str, name: str) -> HttpResponse:
    response = HttpResponse(text, content_type=content_type)
    response["Content-Disposition"] = f'inline; filename="{name}"'
    return response
