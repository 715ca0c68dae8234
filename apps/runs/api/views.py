"""Serve runs over the REST API, and the address to which jobs report progress."""

import json
import math
from collections.abc import Mapping
from typing import Any, ClassVar

from django.http import HttpResponse, HttpResponseBase
from django_filters import rest_framework as filters
from drf_spectacular.utils import (
    OpenApiResponse,
    extend_schema,
    extend_schema_field,
    extend_schema_serializer,
)
from rest_framework import mixins, serializers, status, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api.permissions import actor_of, granted
from apps.accounts.domain.roles import Permission
from apps.common.api.fields import choices, command_list
from apps.common.api.filters import ChangedFilter, NameSearch, Ordering, Person
from apps.common.api.forms import Form
from apps.common.api.preconditions import repeatable
from apps.common.errors import Conflict
from apps.runs.api.explanations import explanation_schema
from apps.runs.api.machines import machine_post
from apps.runs.models import CANCEL_REQUESTED, OPENED, Run, RunEvent
from apps.runs.selectors import (
    JSON,
    computations,
    computed_of,
    kind_choices,
    run_explanation,
    run_rows,
    snapshot_type,
)
from apps.runs.services import run_progress
from apps.runs.services.computations import computation_cancel, run_again
from weir.lifecycle.runs import PersonCommand, RunCommand, RunState, allowed_commands

PROGRESS = {
    "iteration": int,
    "utility": float,
    "best_utility": float,
    "upper_bound": float,
    "done": int,
    "total": int,
}
"""The members of a progress report, all optional; at least one is needed."""

MOST_MOMENTS = 5000
LONGEST_PHASE = 60

RUN_COMMANDS = choices(*PersonCommand)
EVENT_COMMANDS = choices(OPENED, CANCEL_REQUESTED, *RunCommand)
RUN_KINDS = kind_choices()
RUN_STATES = [(state.value, state.value) for state in RunState]


class RunProgressSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe the progress of a run; empty before its first report."""

    iteration = serializers.IntegerField(required=False)
    utility = serializers.FloatField(required=False)
    best_utility = serializers.FloatField(required=False)
    upper_bound = serializers.FloatField(required=False)
    done = serializers.IntegerField(required=False, help_text="Problems solved, of many.")
    total = serializers.IntegerField(required=False)
    phase = serializers.CharField(
        required=False, help_text="What is done of it, where it goes in phases; for people."
    )


class ComputedSerializer(serializers.Serializer[Any]):
    """Describe what a run is computing or has computed."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    name = serializers.CharField(source="__str__", read_only=True, help_text="Such as `A-26`.")


class AnswerSerializer(serializers.Serializer[Any]):
    """What a run is computing or has computed, of whatever kind."""

    kind = serializers.ChoiceField(source="run.kind", choices=RUN_KINDS, read_only=True)
    id = serializers.UUIDField(source="public_id", read_only=True)
    name = serializers.CharField(source="__str__", read_only=True, help_text="Such as `A-26`.")


class RunEventSerializer(serializers.ModelSerializer[RunEvent]):
    """Describe one transition of a run."""

    command = serializers.ChoiceField(choices=EVENT_COMMANDS, read_only=True)
    state = serializers.ChoiceField(choices=RUN_STATES, read_only=True)

    class Meta:
        model = RunEvent
        fields = ["at", "command", "state", "attempt", "note"]


USE_ANSWER = "Use `answer`."


class ComputedIdField(serializers.UUIDField):
    """The id of what a run computed, where it is of one kind; null for runs of others."""

    def __init__(self, path: str, **options: Any) -> None:
        super().__init__(source="*", read_only=True, allow_null=True, **options)
        self._path = path

    def get_attribute(self, instance: Run) -> Any:
        """Return the id; a run of another kind is not looked up in vain."""
        one = computations().get(instance.kind)
        row = computed_of(instance) if one is not None and one.path == self._path else None
        return None if row is None else row.public_id


@extend_schema_serializer(
    deprecate_fields=["allocation", "study", "overlay_evaluation", "computed"]
)
class RunSerializer(serializers.ModelSerializer[Run]):
    """Describe a run of any kind."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    number = serializers.IntegerField(source="pk", read_only=True)
    kind = serializers.ChoiceField(choices=RUN_KINDS, read_only=True)
    system = serializers.UUIDField(source="system.public_id", read_only=True, allow_null=True)
    system_name = serializers.CharField(source="system.name", read_only=True, allow_null=True)
    state = serializers.ChoiceField(choices=RUN_STATES, read_only=True)
    snapshot_hash = serializers.CharField(source="snapshot.content_hash", read_only=True)
    model_version = serializers.IntegerField(
        source="snapshot.model_version", read_only=True, allow_null=True
    )
    demand_estimate = serializers.UUIDField(
        source="snapshot.demand.public_id",
        read_only=True,
        allow_null=True,
        default=None,
        help_text="The estimate of demand that it saw; null: it saw the model's figures.",
    )
    demand_estimate_name = serializers.CharField(
        source="snapshot.demand", read_only=True, allow_null=True, default=None
    )
    result_hash = serializers.CharField(
        source="result.content_hash", read_only=True, allow_null=True, default=None
    )
    allocation = ComputedIdField("allocation", help_text=USE_ANSWER)
    study = ComputedIdField(
        "study", help_text=f"The what-if study whose latest run this is. {USE_ANSWER}"
    )
    overlay_evaluation = ComputedIdField(
        "evaluation", help_text=f"The overlay evaluation whose latest run this is. {USE_ANSWER}"
    )
    computed = serializers.SerializerMethodField()
    answer = serializers.SerializerMethodField()
    asked_by = serializers.CharField(
        source="asked_by.display_name", read_only=True, allow_null=True, default=None
    )
    asked_by_id = serializers.UUIDField(
        source="asked_by.public_id", read_only=True, allow_null=True, default=None
    )
    rerun_of_name = serializers.CharField(
        source="rerun_of", read_only=True, allow_null=True, default=None
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
            "demand_estimate",
            "demand_estimate_name",
            "result_hash",
            "kernel_version",
            "allocation",
            "study",
            "overlay_evaluation",
            "computed",
            "answer",
            "asked_by",
            "asked_by_id",
            "rerun_of",
            "rerun_of_name",
            "starts_from",
            "starts_from_name",
            "attempt",
            "worker",
            "created_at",
            "updated_at",
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
        """Return a name such as `A-26`, or the run where it left no row."""
        if run.starts_from is None:
            return None
        return str(computed_of(run.starts_from) or run.starts_from)

    @extend_schema_field(
        ComputedSerializer(
            allow_null=True,
            help_text="Of whatever kind; null where nothing came out, or a newer run took it over. "
            f"{USE_ANSWER}",
        )
    )
    def get_computed(self, run: Run) -> Any:
        row = computed_of(run)
        return None if row is None else ComputedSerializer(row).data

    @extend_schema_field(
        AnswerSerializer(
            allow_null=True,
            help_text="The row that this run is the latest run of, or has left, of whatever kind; "
            "null where nothing came out, or a newer run took it over. `/computations` has the "
            "address of each kind.",
        )
    )
    def get_answer(self, run: Run) -> Any:
        row = computed_of(run)
        return None if row is None else AnswerSerializer(row).data

    def get_cancel_requested(self, run: Run) -> bool:
        return run.cancel_requested_at is not None

    @extend_schema_field(command_list(RUN_COMMANDS))
    def get_allowed_commands(self, run: Run) -> list[str]:
        request = self.context.get("request")
        if request is None or Permission.START_RUN not in granted(request):
            return []
        commands = [command.value for command in allowed_commands(RunState(run.state))]
        if run.cancel_requested_at is not None:
            commands = [c for c in commands if c != PersonCommand.CANCEL]
        return commands


class RunDetailSerializer(RunSerializer):
    """Describe a run with its history and, where nothing fits, the reason."""

    events = RunEventSerializer(many=True, read_only=True)
    infeasibility = serializers.SerializerMethodField()

    class Meta(RunSerializer.Meta):
        fields = [*RunSerializer.Meta.fields, "events", "infeasibility"]
        read_only_fields = fields

    @extend_schema_field(explanation_schema())
    def get_infeasibility(self, run: Run) -> Any:
        return run_explanation(run)


class CancelSerializer(Form[dict[str, Any]]):
    """Read why somebody cancels a run."""

    reason = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=400,
        help_text="For the run's history and the audit.",
    )


def cancel_reason(request: Request) -> str:
    """Return the reason of a cancellation, from a body that may be left out."""
    form = CancelSerializer(data=request.data)
    form.is_valid(raise_exception=True)
    return str(form.validated_data["reason"])


class RunFilter(ChangedFilter):
    """Filter runs by system, state, kind, method, person and time."""

    system = filters.UUIDFilter(field_name="system__public_id")
    state = filters.MultipleChoiceFilter(choices=RUN_STATES)
    kind = filters.ChoiceFilter(choices=RUN_KINDS)
    person = Person("asked_by")

    class Meta:
        model = Run
        fields = ["method"]


class RunViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[Run]):
    """List computations: their state, progress and history."""

    words: ClassVar[Mapping[str, str]] = {
        "retrieve": "Return one run: its state, progress and history."
    }
    queryset = run_rows()
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
    refuses = {"result": (409,)}

    def get_serializer_class(self) -> Any:
        return RunDetailSerializer if self.action == "retrieve" else RunSerializer

    @extend_schema(request=CancelSerializer, responses={202: RunSerializer})
    @action(detail=True, methods=["post"])
    @repeatable()
    def cancel(self, request: Request, id: str) -> Response:
        """Stop the run and its Spark job; a running one ends within two seconds."""
        reason = cancel_reason(request)
        computation_cancel(run=self.get_object(), actor=actor_of(request), reason=reason)
        return accepted(self.get_object(), request)

    @extend_schema(request=None, responses={202: RunSerializer})
    @action(detail=True, methods=["post"])
    @repeatable()
    def rerun(self, request: Request, id: str) -> Response:
        """Open a new run on the same snapshot, with the same method, parameters and seed."""
        return accepted(run_again(run=self.get_object(), actor=actor_of(request)), request)

    @extend_schema(
        responses={200: OpenApiResponse({"type": "object"}, "A result as in docs/formats.md.")}
    )
    @action(detail=True, methods=["get"])
    def result(self, request: Request, id: str) -> Response:
        """Return the answer in the file format of `manage.py allocate`."""
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
    def snapshot(self, request: Request, id: str) -> HttpResponseBase:
        """Return what the run was asked, as it was frozen; a problem in the file format of
        `manage.py allocate`. `snapshot_type` of `/computations` names kinds whose snapshot is no
        JSON document."""
        run = Run.objects.select_related("snapshot").get(pk=self.get_object().pk)
        payload, media_type = bytes(run.snapshot.payload), snapshot_type(run)
        if media_type != JSON:
            return HttpResponse(payload, content_type=media_type)
        return Response(json.loads(payload))


def accepted(run: Run, request: Request) -> Response:
    """Return 202 with the address of the run."""
    fresh = run_rows().get(pk=run.pk)
    return Response(
        RunSerializer(fresh, context={"request": request}).data,
        status=status.HTTP_202_ACCEPTED,
        headers={"Location": f"/api/v1/runs/{run.public_id}"},
    )


def _moments(body: dict[str, Any]) -> dict[str, list[tuple[int, float]]]:
    """Return when iterations ended, in seconds since the first began; a job reports it at its
    end."""
    if "moments" not in body:
        return {}
    moments = [(int(iteration), float(at_s)) for iteration, at_s in body["moments"]]
    if len(moments) > MOST_MOMENTS or not all(math.isfinite(at_s) for _, at_s in moments):
        raise ValueError(f"{len(moments)} moments")
    return {"moments": moments}


def _phase(body: Any) -> dict[str, str]:
    """Return what a job that goes in phases is doing, in a word or two."""
    if "phase" not in body:
        return {}
    phase = body["phase"]
    if not isinstance(phase, str) or not 0 < len(phase) <= LONGEST_PHASE:
        raise ValueError("phase")
    return {"phase": phase}


@machine_post(max_body_bytes=512 * 1024)
def report_progress(token: str, body: Any) -> bool:
    """Store the progress that a job reports. Its token names one attempt of one run and nothing
    else."""
    progress = {name: number(body[name]) for name, number in PROGRESS.items() if name in body}
    if not progress or not all(math.isfinite(value) for value in progress.values()):
        raise ValueError(progress)
    return run_progress(token=token, progress={**progress, **_phase(body), **_moments(body)})
