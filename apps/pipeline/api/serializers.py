"""Read questions about sums of records, and shape the answers."""

import time
from datetime import UTC, datetime
from typing import Any

from rest_framework import serializers

from apps.common.api.fields import choices
from apps.common.api.forms import Form
from apps.pipeline.domain.quantities import DELIVERY, QUANTITIES, Quantity
from apps.pipeline.domain.steps import (
    LONGEST_S,
    LONGEST_STEP_S,
    MINUTE_S,
    MOST_STEPS,
    USUAL_S,
    Span,
    usual_step_s,
)
from apps.pipeline.domain.verdicts import Evidence
from apps.systems.api.entities import SystemReference

RECORD_QUANTITIES = choices(*QUANTITIES)
DELAY_KINDS = choices(Evidence.DELIVERY, Evidence.ANSWER, Evidence.GATE)
RECORD_GROUPS = choices("topic", "consumer_class", "broker", "system")
LONGEST_NAME = 200
_IN_UNIT = "In the `unit` of the answer"


class WholeMinute(serializers.DateTimeField):
    """Accept a moment of 1970 or later that begins a minute."""

    def to_internal_value(self, value: Any) -> datetime:
        moment = super().to_internal_value(value).astimezone(UTC)
        if moment.second or moment.microsecond:
            raise serializers.ValidationError("Must be a whole minute.")
        if moment.year < 1970:
            raise serializers.ValidationError("Must be in 1970 or later.")
        return moment


class TimeQuery(Form[dict[str, Any]]):
    """Read of which system and time sums are meant."""

    system = SystemReference(help_text="The system whose records were summed.")
    since = WholeMinute(
        required=False,
        help_text="When the first minute begins; left out: an hour before `until`. The time is 30 "
        "days long at most.",
    )
    until = WholeMinute(
        required=False, help_text="When the last minute has ended; left out: the next minute."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        until_s, since_s = _seconds(attrs.get("until")), _seconds(attrs.get("since"))
        if until_s is None:
            until_s = (int(time.time()) // MINUTE_S + 1) * MINUTE_S
        if since_s is None:
            since_s = max(until_s - USUAL_S, 0)
        if since_s >= until_s:
            if "since" in attrs:
                raise serializers.ValidationError({"since": "Must be before `until`."})
            raise serializers.ValidationError({"until": "Must be later."})
        if until_s - since_s > LONGEST_S:
            raise serializers.ValidationError({"since": "Must be 30 days before `until` at most."})
        step_s = attrs.get("step_s") or usual_step_s(until_s - since_s)
        return {**attrs, "span": Span(since_s=since_s, until_s=until_s, step_s=step_s)}


class RecordSumsQuery(TimeQuery):
    """Read which quantity of which records is meant, and over which steps."""

    quantity = serializers.ChoiceField(choices=RECORD_QUANTITIES)
    by = serializers.ChoiceField(
        choices=RECORD_GROUPS,
        required=False,
        help_text="What has a series; left out: the topic, and of metrics the broker. "
        "`published_per_s` has no classes, delays have no brokers.",
    )
    kind = serializers.ChoiceField(
        choices=DELAY_KINDS,
        required=False,
        help_text="Of delays: `delivery`, from publication to reception; `answer`, of a request "
        f"until its answer; `gate`, at that of the topic. Left out: `{DELIVERY}`.",
    )
    metric = serializers.CharField(
        required=False,
        max_length=LONGEST_NAME,
        help_text="Of `measured` and `measured_sum`, and needed there: which, as "
        "`GET /record-metrics` lists them.",
    )
    topic = serializers.CharField(
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        max_length=LONGEST_NAME,
        help_text="Records of this topic alone; of `measured`, empty: of no topic alone.",
    )
    consumer_class = serializers.CharField(
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        max_length=LONGEST_NAME,
        help_text="Records of this class alone; empty: of no known class.",
    )
    broker = serializers.CharField(
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        max_length=LONGEST_NAME,
        help_text="Records of this broker alone; empty: of no known broker.",
    )
    step_s = serializers.IntegerField(
        required=False,
        min_value=MINUTE_S,
        max_value=LONGEST_STEP_S,
        help_text="Of a step, seconds: whole minutes, and so long that there are "
        f"{MOST_STEPS:,} steps at most. Left out: the shortest round one with 240 steps at most.",
    )

    def validate_step_s(self, step_s: int) -> int:
        if step_s % MINUTE_S:
            raise serializers.ValidationError("Must be whole minutes: a multiple of 60.")
        return step_s

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)
        if len(attrs["span"].starts_s) > MOST_STEPS:
            message = f"Must be longer: there would be more than {MOST_STEPS:,} steps."
            raise serializers.ValidationError({"step_s": message})
        name = attrs["quantity"]
        quantity = QUANTITIES[name]
        attrs.setdefault("by", quantity.by[0])
        if attrs["by"] not in quantity.by:
            message = f"Must be one of {', '.join(quantity.by)} for {name}."
            raise serializers.ValidationError({"by": message})
        return {**attrs, "only": self._only(name, quantity, attrs)}

    def _only(self, name: str, quantity: Quantity, attrs: dict[str, Any]) -> dict[str, str]:
        """Return the columns that rows are narrowed by. Raises ValidationError."""
        special = {"delays": "kind", "measured": "metric"}.get(quantity.sums)
        if special == "kind":
            attrs.setdefault("kind", DELIVERY)
        if special == "metric" and "metric" not in attrs:
            raise serializers.ValidationError({"metric": "Name the metric that was measured."})
        columns = ("kind", "metric", "topic", "consumer_class", "broker")
        only = {column: attrs[column] for column in columns if column in attrs}
        for column in only:
            if column != special and column not in quantity.columns:
                message = f"{name} is not known by this; leave it out."
                raise serializers.ValidationError({column: message})
        return only


class RecordSeriesSerializer(serializers.Serializer[Any]):
    """Describe one series of sums."""

    name = serializers.CharField(
        help_text="The topic, class or broker, empty where none is known; the system's, where all "
        "is together."
    )
    values = serializers.ListField(
        child=serializers.FloatField(allow_null=True),
        help_text=f"{_IN_UNIT}, one for each step; null: nothing was measured.",
    )
    least = serializers.ListField(
        child=serializers.FloatField(allow_null=True),
        allow_null=True,
        help_text=f"{_IN_UNIT}, the least sample of each step; null but for `measured`.",
    )
    most = serializers.ListField(
        child=serializers.FloatField(allow_null=True),
        allow_null=True,
        help_text=f"{_IN_UNIT}, the greatest sample of each step; null but for `measured`.",
    )


class RecordSumsSerializer(serializers.Serializer[Any]):
    """Describe sums of records as series over steps of time."""

    quantity = serializers.ChoiceField(choices=RECORD_QUANTITIES)
    unit = serializers.CharField(help_text="Empty where nobody knows the metric's.")
    by = serializers.ChoiceField(choices=RECORD_GROUPS)
    step_s = serializers.IntegerField(help_text="Of a step; the last one may be shorter.")
    since = serializers.DateTimeField(help_text="When the first step begins.")
    until = serializers.DateTimeField(help_text="When the last step has ended.")
    steps = serializers.ListField(
        child=serializers.DateTimeField(), help_text="When each step begins."
    )
    minutes = serializers.ListField(
        child=serializers.IntegerField(),
        help_text="Of each step, the number of minutes in which the system has records of this "
        "kind, of whatever series. Rates are over these.",
    )
    series = RecordSeriesSerializer(many=True)
    left_out = serializers.IntegerField(
        help_text="The number of further series: those with most messages are shown, and of "
        "`measured` those with the largest mean."
    )


class RecordNamesSerializer(serializers.Serializer[Any]):
    """Describe the names that there are."""

    names = serializers.ListField(child=serializers.CharField())
    left_out = serializers.IntegerField(help_text="The number of further names.")


class RecordMetricSerializer(serializers.Serializer[Any]):
    """Describe a metric of records."""

    name = serializers.CharField()
    unit = serializers.CharField(help_text="Empty where nobody knows it.")


class RecordMetricsSerializer(serializers.Serializer[Any]):
    """Describe what there is to choose of the sums of a system."""

    since = serializers.DateTimeField(help_text="When the time begins that names are of.")
    until = serializers.DateTimeField(help_text="When it has ended.")
    first = serializers.DateTimeField(
        allow_null=True, help_text="When the first minute of all begins; null: there is none."
    )
    last = serializers.DateTimeField(
        allow_null=True, help_text="When the last minute of all begins; null: there is none."
    )
    topics = RecordNamesSerializer()
    consumer_classes = RecordNamesSerializer()
    brokers = RecordNamesSerializer()
    kinds = serializers.ListField(
        child=serializers.CharField(), help_text="Kinds of delays, such as `delivery`."
    )
    metrics = RecordMetricSerializer(many=True)
    metrics_left_out = serializers.IntegerField(help_text="The number of further metrics.")


def moment(seconds: int) -> datetime:
    """Return a moment of Unix seconds in UTC."""
    return datetime.fromtimestamp(seconds, UTC)


def _seconds(given: datetime | None) -> int | None:
    return None if given is None else int(given.timestamp())
