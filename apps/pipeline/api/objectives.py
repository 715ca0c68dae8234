"""Serve how objectives held: budgets, burn rates and the minutes behind them."""

from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from django.utils import timezone
from django_filters import rest_framework as filters
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, serializers, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.catalog.models import Quantity, Slo
from apps.common.api.fields import choices
from apps.common.api.filters import FilterSet, NameSearch, Ordering
from apps.common.api.forms import Form
from apps.pipeline.domain.error_budget import Severity, Standing
from apps.pipeline.domain.steps import MINUTE_S
from apps.pipeline.domain.verdicts import Evidence
from apps.pipeline.models import ObjectiveTerm
from apps.pipeline.selectors.objectives import (
    JudgedStep,
    SloReading,
    judged_steps,
    judged_until,
    slo_readings,
    with_standing,
)
from apps.systems.api.entities import reference_filter

USUAL_STEPS = 240
"""A step is so long that a time has no more, where none is given."""
MOST_STEPS = 2000
LONGEST = timedelta(days=366)

SLO_STANDINGS = choices(*Standing)
SEVERITIES = choices(*Severity)
EVIDENCES = choices(*Evidence)


class BurnSerializer(serializers.Serializer[Any]):
    """Describe how fast an error budget went over two stretches of time."""

    severity = serializers.ChoiceField(choices=SEVERITIES)
    threshold = serializers.FloatField(
        help_text="The burn rate that both stretches must exceed; 1 spends the budget in one "
        "window."
    )
    long_minutes = serializers.IntegerField(help_text="The longer stretch, minutes.")
    short_minutes = serializers.IntegerField(help_text="The shorter stretch, minutes.")
    long_burn = serializers.FloatField(help_text="Burn rate over the longer stretch.")
    short_burn = serializers.FloatField(help_text="Burn rate over the shorter stretch.")
    fires = serializers.BooleanField(help_text="Both rates exceed the threshold.")
    can_fire = serializers.BooleanField(
        help_text="False: the budget is so large that it burns no faster even where every minute "
        "is missed."
    )


class LatestMinuteSerializer(serializers.Serializer[Any]):
    """Describe the last minute of an objective that was judged."""

    at = serializers.DateTimeField(help_text="When it began.")
    value = serializers.FloatField(help_text="In the unit of the quantity.")
    has_held = serializers.BooleanField()
    has_too_few = serializers.BooleanField(
        help_text="So few messages that a single one may have decided."
    )
    messages = serializers.FloatField(help_text="How many it was judged by; of rates, about.")
    evidence = serializers.ChoiceField(choices=EVIDENCES)


class SloComplianceSerializer(serializers.Serializer[Any]):
    """Describe what became of an objective in its window, or since it was edited."""

    id = serializers.UUIDField(source="slo.public_id", help_text="The id of the objective.")
    name = serializers.CharField(source="slo.name")
    system = serializers.UUIDField(source="slo.system.public_id")
    system_name = serializers.CharField(source="slo.system.name")
    topic = serializers.UUIDField(source="slo.topic.public_id")
    topic_name = serializers.CharField(source="slo.topic.name")
    quantity = serializers.ChoiceField(source="slo.quantity", choices=Quantity.choices)
    target = serializers.FloatField(source="slo.target", help_text="In the unit of the quantity.")
    objective = serializers.FloatField(
        source="slo.objective", help_text="Share of the window in which the target must hold."
    )
    window_s = serializers.IntegerField(source="slo.window_s", help_text="The window, seconds.")
    standing = serializers.ChoiceField(
        source="slo.standing",
        choices=SLO_STANDINGS,
        help_text="As it was worked out last: within a minute, and after each verdict.",
    )
    since = serializers.DateTimeField(
        allow_null=True,
        help_text="When the window began, or the budget, which is new after each edit; null: it "
        "has not begun.",
    )
    until = serializers.DateTimeField(
        help_text="When the window ends: with the last judged minute, or five minutes ago where "
        "that is longer ago."
    )
    judged_until = serializers.DateTimeField(
        allow_null=True,
        help_text="When the last judged minute ended: what came since is not known. Null: none was "
        "judged.",
    )
    measured_minutes = serializers.IntegerField(
        source="compliance.counted.measured", help_text="Minutes that were judged."
    )
    missed_minutes = serializers.IntegerField(
        source="compliance.counted.missed", help_text="Minutes in which the target did not hold."
    )
    too_few_minutes = serializers.IntegerField(
        source="compliance.counted.too_few",
        help_text="Judged minutes with so few messages that a single one may have decided.",
    )
    at_gate_minutes = serializers.IntegerField(
        source="at_gate",
        help_text="Judged minutes of which only the delay at the gate is known: brokers and links "
        "add to it.",
    )
    share_held = serializers.FloatField(
        source="compliance.share_held",
        allow_null=True,
        help_text="Share of the judged minutes in which the target held.",
    )
    budget_minutes = serializers.FloatField(
        source="compliance.budget_minutes",
        help_text="How many minutes of a window may be missed.",
    )
    budget_left = serializers.FloatField(
        source="compliance.budget_left",
        allow_null=True,
        help_text="Share of the budget; below 0: more was spent. Null: nothing was measured.",
    )
    burns = BurnSerializer(source="compliance.burns", many=True)
    latest = LatestMinuteSerializer(allow_null=True)


class JudgedStepSerializer(serializers.Serializer[Any]):
    """Describe what became of an objective in a step of time."""

    since = serializers.DateTimeField(help_text="When the step began.")
    measured_minutes = serializers.IntegerField(help_text="Minutes that were judged.")
    missed_minutes = serializers.IntegerField(help_text="Minutes in which the target did not hold.")
    worst = serializers.FloatField(
        help_text="The largest value of a minute, of a rate the least, in the unit of the quantity."
    )


class SloMinutesSerializer(serializers.Serializer[Any]):
    """Describe what became of an objective, step by step."""

    since = serializers.DateTimeField()
    until = serializers.DateTimeField()
    judged_until = serializers.DateTimeField(
        allow_null=True,
        help_text="When the last minute of all that was judged ended; null: none was.",
    )
    step_s = serializers.IntegerField(help_text="Length of a step, seconds.")
    steps = JudgedStepSerializer(many=True, help_text="Those in which minutes were judged.")


class SloMinutesQuery(Form[dict[str, Any]]):
    """Read of which time steps are wanted, in whole minutes."""

    since = serializers.DateTimeField(
        required=False,
        help_text="Left out: one window of the objective before `until`, or when its budget began.",
    )
    until = serializers.DateTimeField(required=False, help_text="Left out: now.")
    step_s = serializers.IntegerField(
        required=False,
        min_value=MINUTE_S,
        max_value=int(LONGEST.total_seconds()),
        help_text=f"Length of a step, seconds, whole minutes; left out: so that there are at most "
        f"{USUAL_STEPS}.",
    )

    def validate_step_s(self, step_s: int) -> int:
        if step_s % MINUTE_S:
            raise serializers.ValidationError("Give whole minutes: a multiple of 60.")
        return step_s

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        slo: Slo = self.context["slo"]
        until = attrs.get("until") or timezone.now()
        # What was left out is not to blame.
        end = "until" if "until" in attrs else "since"
        usual = timedelta(seconds=max(MINUTE_S, min(slo.window_s, LONGEST.total_seconds())))
        try:
            since = attrs.get("since") or self._first(until, until - usual)
            since_s, until_s = int(since.timestamp()), -int(-until.timestamp() // 1)
            since_s, until_s = since_s // MINUTE_S * MINUTE_S, -(-until_s // MINUTE_S) * MINUTE_S
            datetime.fromtimestamp(until_s, UTC)
        except (OverflowError, ValueError) as error:
            raise serializers.ValidationError({end: "Lies outside the calendar."}) from error
        if until <= since:
            message = "Must be after `since`." if end == "until" else "Must be before now."
            raise serializers.ValidationError({end: message})
        if until_s - since_s > LONGEST.total_seconds() + MINUTE_S:
            raise serializers.ValidationError({"since": "Give 366 days at most."})
        step_s = (
            attrs.get("step_s") or -(-(until_s - since_s) // MINUTE_S // USUAL_STEPS) * MINUTE_S
        )
        if (until_s - since_s) / step_s > MOST_STEPS:
            message = f"Gives more than {MOST_STEPS:,} steps; give a longer one or a shorter time."
            raise serializers.ValidationError({"step_s": message})
        return {"since_s": since_s, "until_s": until_s, "step_s": step_s}

    def _first(self, until: datetime, since: datetime) -> datetime:
        """Return when the first minute begins that may have a verdict, of a window."""
        term = ObjectiveTerm.objects.filter(slo=self.context["slo"]).first()
        if term is None or not since.timestamp() < term.since_s < until.timestamp():
            return since
        return datetime.fromtimestamp(term.since_s, UTC)


class SloComplianceFilter(FilterSet):
    """Filter objectives by system, topic, quantity and how they stand."""

    system = filters.UUIDFilter(field_name="system__public_id")
    topic = reference_filter("topic")
    standing = filters.ChoiceFilter(choices=SLO_STANDINGS)

    class Meta:
        model = Slo
        fields = ["name", "quantity"]


class SloComplianceViewSet(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[Slo]
):
    """List how objectives held: what is left of their error budgets, and how fast they burn."""

    words: ClassVar[dict[str, str]] = {
        "retrieve": "Return how one objective held; its id is that of the objective.",
    }
    queryset = with_standing(Slo.objects.select_related("system", "topic"))
    serializer_class = SloComplianceSerializer
    filterset_class = SloComplianceFilter
    filter_backends = [filters.DjangoFilterBackend, NameSearch, Ordering]
    search_fields = ["name", "topic__name"]
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    lookup_value_converter = "uuid"
    ordering_fields = ["name", "topic__name", "quantity"]
    ordering = ["name"]

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        assert page is not None
        readings: list[SloReading] = slo_readings(page)
        return self.get_paginated_response(self.get_serializer(readings, many=True).data)

    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        (reading,) = slo_readings([self.get_object()])
        return Response(self.get_serializer(reading).data)

    @extend_schema(parameters=[SloMinutesQuery], responses=SloMinutesSerializer)
    @action(detail=True, methods=["get"], filter_backends=[], pagination_class=None)
    def minutes(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Return what became of one objective, step by step."""
        slo = self.get_object()
        form = SloMinutesQuery(data=request.query_params.dict(), context={"slo": slo})
        form.is_valid(raise_exception=True)
        values = form.validated_data
        steps: list[JudgedStep] = judged_steps(slo, **values)
        answer = {
            "since": datetime.fromtimestamp(values["since_s"], UTC),
            "until": datetime.fromtimestamp(values["until_s"], UTC),
            "judged_until": judged_until(slo),
            "step_s": values["step_s"],
            "steps": steps,
        }
        return Response(SloMinutesSerializer(answer).data)
