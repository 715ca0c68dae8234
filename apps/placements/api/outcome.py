"""Describe what a placement comes to: the contract, what each number of brokers would bring, and
each broker's part."""

from typing import Any

from rest_framework import serializers

from apps.common.api.fields import choices

OUTCOME_STATUSES = choices("solved", "infeasible")
VERDICTS = choices("kept", "missed", "inconclusive")
CAUSES = choices("processing", "rate", "tokens")
UNBOUNDED = "null: it grows without bound"
P99 = f"What 1 % of the messages wait longer than, in token bucket and queue, s; {UNBOUNDED}."
PROCESSING = f"The same without any token bucket, s; {UNBOUNDED}."
PENALTY = "What the split bucket adds to it, s; null where either has no bound."
MEAN = (
    f"What messages wait on average, in token bucket and queue, s; {UNBOUNDED}, or the placement "
    "is older than this figure."
)
MOVED = "Publishers that change their broker, or get one."
MEETS = "Whether it meets all targets; null: there is none."


def _seconds(text: str) -> serializers.FloatField:
    return serializers.FloatField(allow_null=True, help_text=text)


def _newer(text: str) -> serializers.FloatField:
    """Return a field that older answers lack."""
    return serializers.FloatField(allow_null=True, default=None, help_text=text)


class PlacementContractSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe what the topic may send, and what it is promised."""

    rate_per_s = serializers.FloatField(help_text="What its publishers send together.")
    token_rate_per_s = serializers.FloatField()
    bucket = serializers.FloatField(help_text="Messages that it may send at once.")
    recorded_bucket = _newer(
        "The smallest bucket that a recording asks for, messages, which delays were computed by; "
        "of a what-if, the one that would have been recorded. Null: publishers were taken to send "
        "at random."
    )
    batch = serializers.IntegerField(help_text="Messages that a publisher sends at a time.")
    slo_p99_s = _seconds("Target of the 99th percentile, s; null: none.")
    slo_mean_s = _newer("Target of the mean, s; null: none.")


class DelaysSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe delays; base of what has some."""

    p99_s = _seconds(P99)
    processing_p99_s = _seconds(PROCESSING)
    penalty_s = _seconds(PENALTY)
    mean_s = _newer(MEAN)


class PlacementTodaySerializer(DelaysSerializer):
    """Describe where the publishers are today, by the same model."""

    brokers = serializers.IntegerField()
    publishers = serializers.IntegerField(help_text="Those that have a broker today.")
    meets = serializers.BooleanField(allow_null=True, help_text=MEETS)


class PlacementOptionSerializer(DelaysSerializer):
    """Describe what this number of brokers would bring."""

    brokers = serializers.IntegerField()
    names = serializers.ListField(child=serializers.CharField())
    fits = serializers.BooleanField(help_text="Whether all publishers have room.")
    chosen = serializers.BooleanField(
        help_text="What the method takes. The default: today's brokers where only those move "
        "whom they cannot keep and that meets all targets; else the fewest that meet them; where "
        "none do, the smallest delay beside its target."
    )
    meets = serializers.BooleanField(allow_null=True, help_text=MEETS)
    moved = serializers.IntegerField(help_text=MOVED)
    free_bucket = serializers.FloatField(
        allow_null=True,
        help_text="The smallest bucket with which nobody waits for tokens, 99 % of the time.",
    )


class PlacementShareSerializer(DelaysSerializer):
    """Describe one broker's part of the topic; a broker without one is listed, too."""

    broker = serializers.CharField()
    max_rate_per_s = serializers.FloatField(help_text="What it takes of all publishers.")
    allocated_rate_per_s = serializers.FloatField(help_text="What other topics take of that.")
    drained = serializers.BooleanField()
    publishers = serializers.IntegerField()
    publishers_today = serializers.IntegerField()
    rate_per_s = serializers.FloatField()
    rate_today_per_s = serializers.FloatField()
    token_rate_per_s = serializers.FloatField(
        allow_null=True, help_text="Its part of the topic's tokens; null: it has none of the topic."
    )
    bucket = serializers.FloatField(
        allow_null=True, help_text="Its part of the bucket, messages; null: none of the topic."
    )
    wait_p99_s = serializers.FloatField(
        allow_null=True,
        default=None,
        help_text="What 1 % of its messages wait longer than for tokens alone, s; null: it has "
        "none of the topic, it grows without bound, or the placement is older than this figure.",
    )
    speed_per_s = serializers.FloatField(
        allow_null=True,
        default=None,
        help_text="What it processes by this placement, msg/s: as measured, else its publish "
        "rate; null: the placement is older than this figure.",
    )
    below_one_token = serializers.BooleanField(
        help_text="Its bucket is below one token: every message waits for a whole one."
    )


class PlacementGroupSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe how the publishers of one correlation key are spread."""

    name = serializers.CharField(allow_null=True, help_text="Null: those without a key.")
    publishers = serializers.IntegerField()
    by_broker = serializers.DictField(child=serializers.IntegerField())
    within_one = serializers.BooleanField(
        help_text="Whether each broker has its share of them, to one publisher."
    )


class MeasuredBrokerSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe what messages of the topic took at one broker, and what that shows."""

    broker = serializers.CharField()
    publishers = serializers.IntegerField(help_text="Publishers of the topic that it served.")
    rate_per_s = serializers.FloatField(help_text="Messages over seconds.")
    expected_rate_per_s = serializers.FloatField(
        help_text="What its publishers send by the model that the placement was made of, msg/s."
    )
    messages = serializers.IntegerField(help_text="Messages that were measured.")
    seconds = serializers.FloatField(help_text="For how long, s.")
    predicted_p99_s = _seconds(f"What the placement had predicted, s; {UNBOUNDED}.")
    p99_s = serializers.FloatField(
        help_text="What 1 % of them took longer than, from their arrival until the broker handed "
        "them on, s."
    )
    low_s = serializers.FloatField(help_text="It is no less, with 97.5 % certainty, s.")
    high_s = _seconds("It is no more, with 97.5 % certainty, s; null: too little is measured.")
    processing_p99_s = serializers.FloatField(
        help_text="The same without what the part of the bucket held, s."
    )
    processing_low_s = serializers.FloatField(help_text="As `low_s`, of `processing_p99_s`.")
    processing_high_s = _seconds("As `high_s`, of `processing_p99_s`.")
    predicted_mean_s = _newer("The mean that the placement had predicted, s; null: as above.")
    mean_s = _newer("What they took on average, s; null: not measured.")
    mean_low_s = _newer("As `low_s`, of `mean_s`.")
    mean_high_s = _newer("As `high_s`, of `mean_s`.")
    verdict = serializers.ChoiceField(
        choices=VERDICTS, allow_null=True, help_text="Null: the topic has no target."
    )
    cause = serializers.ChoiceField(
        choices=CAUSES,
        allow_null=True,
        help_text="What most of the delay is where the target was missed; null: it was not.",
    )
    speed_before_per_s = serializers.FloatField(
        allow_null=True,
        help_text="What the broker was taken to process, msg/s; null: nothing was fitted yet.",
    )
    speed_per_s = serializers.FloatField(
        allow_null=True,
        help_text="What it processes as the measurement shows, msg/s; null: nothing was fitted "
        "yet.",
    )
    fitted = serializers.BooleanField(
        allow_null=True,
        help_text="Whether the measurement changed its speed: not where too little is measured. "
        "Null: nothing was fitted yet.",
    )


class MeasuredPlacementSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe what was measured at the brokers of a placement while it was in force."""

    of = serializers.CharField(help_text="The id of that placement.")
    meets = serializers.BooleanField(
        allow_null=True,
        help_text="Whether every broker kept all targets; null: not proven, or there is none.",
    )
    brokers = MeasuredBrokerSerializer(many=True)


class MeasuredBeforeSerializer(MeasuredPlacementSerializer):
    """Describe what was measured of the placement before, by which this one is made."""

    search_rounds = serializers.IntegerField(
        help_text="Rounds that a search by halves of each broker's publishers would measure if "
        "brokers are as fitted; 0: the topic has no target."
    )


class PlacementOutcomeSerializer(DelaysSerializer):
    """Describe what a placement comes to; brokers of single publishers are at `/moves`."""

    status = serializers.ChoiceField(choices=OUTCOME_STATUSES)
    method = serializers.CharField()
    contract = PlacementContractSerializer()
    unassigned = serializers.IntegerField(help_text="Publishers without room.")
    need_brokers = serializers.IntegerField(
        allow_null=True,
        help_text="Further brokers, each like the largest, that would hold them; null: all have "
        "room, or no number would do.",
    )
    publishers = serializers.IntegerField()
    moved = serializers.IntegerField(help_text=MOVED)
    meets = serializers.BooleanField(allow_null=True, help_text=MEETS)
    today = PlacementTodaySerializer(allow_null=True)
    curve = PlacementOptionSerializer(many=True, help_text="By the number of brokers.")
    shares = PlacementShareSerializer(
        many=True, help_text="Every broker; those that are used come first."
    )
    groups = PlacementGroupSerializer(
        many=True, help_text="By correlation key; those without one come last."
    )
    largest_share_per_s = serializers.FloatField(
        allow_null=True, help_text="What one publisher alone can send at most, msg/s."
    )
    measured = MeasuredBeforeSerializer(
        allow_null=True, default=None, help_text="Null: it is not made by measurements."
    )
