"""Runs over REST; the address to which jobs report progress; live events."""

import json
import math
from typing import Any

from django_filters import rest_framework as filters
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import mixins, serializers, status, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.permissions import granted
from apps.accounts.domain.roles import Permission
from apps.accounts.models import User
from apps.common.api.filters import FilterSet, NameSearch, Ordering
from apps.common.api.preconditions import once
from apps.common.errors import Conflict
from apps.runs.api.infeasibility import (
    InfeasibilitySerializer,
    infeasibility_names,
    infeasibility_shown,
)
from apps.runs.api.machines import machine_post
from apps.runs.models import Run, RunEvent
from apps.runs.selectors import objects_named, run_infeasibility
from apps.runs.services import run_again, run_cancel, run_progress
from apps.systems.api.entities import IDEMPOTENCY_KEY
from weir.lifecycle.runs import PersonCommand, RunState, allowed_commands

PROGRESS = {
    "iteration": int,
    "utility": float,
    "best_utility": float,
    "upper_bound": float,
    "done": int,
    "total": int,
}
"""What a job may say of how far it is, all optional; at least one."""

MOST_MOMENTS = 5000

RUN_STATES = [(state.value, state.value) for state in RunState]


class RunProgressSerializer(serializers.Serializer[dict[str, Any]]):
    """How far a run is; empty before its first report."""

    iteration = serializers.IntegerField(required=False)
    utility = serializers.FloatField(required=False)
    best_utility = serializers.FloatField(required=False)
    upper_bound = serializers.FloatField(required=False)
    done = serializers.IntegerField(required=False, help_text="Problems solved, of many.")
    total = serializers.IntegerField(required=False)


class RunEventSerializer(serializers.ModelSerializer[RunEvent]):
    """One transition."""

    class Meta:
        model = RunEvent
        fields = ["at", "command", "state", "attempt", "note"]


class RunSerializer(serializers.ModelSerializer[Run]):
    """A run."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    number = serializers.IntegerField(source="pk", read_only=True)
    system = serializers.UUIDField(source="system.public_id", read_only=True, allow_null=True)
    system_name = serializers.CharField(source="system.name", read_only=True, allow_null=True)
    state = serializers.ChoiceField(choices=RUN_STATES, read_only=True)
    snapshot_hash = serializers.CharField(source="snapshot.content_hash", read_only=True)
    model_version = serializers.IntegerField(
        source="snapshot.model_version", read_only=True, allow_null=True
    )
    result_hash = serializers.CharField(
        source="result.content_hash", read_only=True, allow_null=True, default=None
    )
    allocation = serializers.UUIDField(
        source="allocation.public_id", read_only=True, allow_null=True, default=None
    )
    study = serializers.UUIDField(
        source="study.public_id",
        read_only=True,
        allow_null=True,
        default=None,
        help_text="The what-if study whose latest run this is.",
    )
    overlay_evaluation = serializers.UUIDField(
        source="overlay_evaluation.public_id",
        read_only=True,
        allow_null=True,
        default=None,
        help_text="The overlay evaluation whose latest run this is.",
    )
    asked_by = serializers.CharField(
        source="asked_by.display_name", read_only=True, allow_null=True, default=None
    )
    rerun_of = serializers.UUIDField(
        source="rerun_of.public_id", read_only=True, allow_null=True, default=None
    )
    starts_from = serializers.UUIDField(
        source="starts_from.public_id",
        read_only=True,
        allow_null=True,
        default=None,
        help_text="The run whose prices, rates and populations it begins at; null: it began cold.",
    )
    starts_from_name = serializers.SerializerMethodField()
    cancel_requested = serializers.SerializerMethodField()
    progress = RunProgressSerializer(read_only=True)
    parameters = serializers.DictField(read_only=True)
    allowed_commands = serializers.SerializerMethodField()

    class Meta:
        model = Run
        fields = [
            "id",
            "number",
            "kind",
            "system",
            "system_name",
            "state",
            "method",
            "parameters",
            "seed",
            "time_limit_s",
            "snapshot_hash",
            "model_version",
            "result_hash",
            "kernel_version",
            "allocation",
            "study",
            "overlay_evaluation",
            "asked_by",
            "rerun_of",
            "starts_from",
            "starts_from_name",
            "attempt",
            "worker",
            "created_at",
            "started_at",
            "finished_at",
            "heartbeat_at",
            "cancel_requested",
            "progress",
            "failure_code",
            "failure",
            "allowed_commands",
        ]
        read_only_fields = fields

    def get_starts_from_name(self, run: Run) -> str | None:
        """`A-26`, or the run where it left no allocation."""
        if run.starts_from is None:
            return None
        return str(getattr(run.starts_from, "allocation", None) or run.starts_from)

    def get_cancel_requested(self, run: Run) -> bool:
        return run.cancel_requested_at is not None

    def get_allowed_commands(self, run: Run) -> list[str]:
        request = self.context.get("request")
        if request is None or Permission.START_RUN not in granted(request):
            return []
        commands = [command.value for command in allowed_commands(RunState(run.state))]
        if run.cancel_requested_at is not None:
            commands = [c for c in commands if c != PersonCommand.CANCEL]
        return commands


class RunDetailSerializer(RunSerializer):
    """A run with its history and, where nothing fits, the reason."""

    events = RunEventSerializer(many=True, read_only=True)
    infeasibility = serializers.SerializerMethodField()

    class Meta(RunSerializer.Meta):
        fields = [*RunSerializer.Meta.fields, "events", "infeasibility"]
        read_only_fields = fields

    @extend_schema_field(InfeasibilitySerializer(allow_null=True))
    def get_infeasibility(self, run: Run) -> dict[str, Any] | None:
        stored = run_infeasibility(run)
        if stored is None:
            return None
        return infeasibility_shown(stored, objects_named(run.system, infeasibility_names(stored)))


class RunFilter(FilterSet):
    """By system, state, kind and method."""

    system = filters.UUIDFilter(field_name="system__public_id")
    state = filters.MultipleChoiceFilter(choices=RUN_STATES)

    class Meta:
        model = Run
        fields = ["kind", "method"]


class RunViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[Run]):
    """Computations: their state, progress and history."""

    queryset = Run.objects.select_related(
        *("system", "snapshot", "result", "allocation", "asked_by", "rerun_of"),
        *("starts_from__allocation", "study", "overlay_evaluation"),
    ).defer(
        *("snapshot__payload", "result__payload", "study__spec"),
        *("overlay_evaluation__edges", "overlay_evaluation__subscribers"),
        *(f"allocation__{name}" for name in ("trace", "bounds", "moments")),
        *(f"starts_from__allocation__{name}" for name in ("trace", "bounds", "moments")),
    )
    serializer_class = RunSerializer
    filterset_class = RunFilter
    filter_backends = [filters.DjangoFilterBackend, NameSearch, Ordering]
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    lookup_value_converter = "uuid"
    search_fields = ["method", "system__name", "asked_by__username", "failure"]
    ordering_fields = ["created_at", "finished_at", "state", "method"]
    ordering = ["-id"]
    needs = {"cancel": Permission.START_RUN, "rerun": Permission.START_RUN}

    def get_serializer_class(self) -> Any:
        return RunDetailSerializer if self.action == "retrieve" else RunSerializer

    @extend_schema(request=None, responses={202: RunSerializer})
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, id: str) -> Response:
        """Stop the run and its Spark job; a running one ends within two seconds."""
        assert isinstance(request.user, User)
        run_cancel(run=self.get_object(), actor=request.user)
        return accepted(self.get_object(), request)

    @extend_schema(parameters=[IDEMPOTENCY_KEY], request=None, responses={202: RunSerializer})
    @action(detail=True, methods=["post"])
    def rerun(self, request: Request, id: str) -> Response:
        """Open a new run on the same snapshot, with the same method, parameters and seed."""

        def start() -> Response:
            assert isinstance(request.user, User)
            return accepted(run_again(run=self.get_object(), actor=request.user), request)

        return once(request, start)

    @extend_schema(
        responses={200: OpenApiResponse({"type": "object"}, "A result as in docs/formats.md.")}
    )
    @action(detail=True, methods=["get"])
    def result(self, request: Request, id: str) -> Response:
        """The answer in the file format of `manage.py allocate`."""
        run = Run.objects.select_related("result").get(pk=self.get_object().pk)
        if not hasattr(run, "result"):
            raise Conflict("no_result", f"{run} is {run.state}: it has no result.")
        plain = json.loads(bytes(run.result.payload))
        for name in ("problem_hash", "kernel_version", "seed", "bounds"):
            plain.pop(name, None)
        if plain.get("infeasibility") is None:
            plain.pop("infeasibility", None)
        if plain.get("reason") == "":
            plain.pop("reason")
        return Response(plain)

    @extend_schema(
        responses={200: OpenApiResponse({"type": "object"}, "A problem as in docs/formats.md.")}
    )
    @action(detail=True, methods=["get"])
    def snapshot(self, request: Request, id: str) -> Response:
        """The frozen problem in the file format of `manage.py allocate`."""
        run = Run.objects.select_related("snapshot").get(pk=self.get_object().pk)
        return Response(json.loads(bytes(run.snapshot.payload)))


def accepted(run: Run, request: Request) -> Response:
    """202 with the address of the run."""
    fresh = RunViewSet.queryset.get(pk=run.pk)
    return Response(
        RunSerializer(fresh, context={"request": request}).data,
        status=status.HTTP_202_ACCEPTED,
        headers={"Location": f"/api/v1/runs/{run.public_id}"},
    )


def _moments(body: dict[str, Any]) -> dict[str, list[tuple[int, float]]]:
    """When iterations ended, seconds since the first began; a job says it when it is done."""
    if "moments" not in body:
        return {}
    moments = [(int(iteration), float(at_s)) for iteration, at_s in body["moments"]]
    if len(moments) > MOST_MOMENTS or not all(math.isfinite(at_s) for _, at_s in moments):
        raise ValueError(f"{len(moments)} moments")
    return {"moments": moments}


@machine_post(max_body_bytes=512 * 1024)
def report_progress(token: str, body: Any) -> bool:
    """A job says how far it is. Its token names one attempt of one run and nothing else."""
    progress = {name: number(body[name]) for name, number in PROGRESS.items() if name in body}
    if not progress or not all(math.isfinite(value) for value in progress.values()):
        raise ValueError(progress)
    return run_progress(token=token, progress={**progress, **_moments(body)})
