"""Shape adaptations for the REST API."""

from typing import Any

from rest_framework import serializers

from apps.adaptation.models import DECISION_STATES, DecisionCause
from apps.common.api.forms import Form

ADAPTATION_STATES = [(name, name) for name in ("off", "running", "held", "stopped")]
ADAPTATION_COMMANDS = [(name, name) for name in ("stop", "resume")]


class BucketContractSerializer(serializers.Serializer[Any]):
    """Describe what the parts of a bucket add up to."""

    token_rate_per_s = serializers.FloatField(help_text="Sum of the rates in force, msg/s.")
    bucket = serializers.FloatField(help_text="Sum of the sizes in force, messages.")


class AdaptedPartSerializer(serializers.Serializer[Any]):
    """Describe one broker's part: in force, asked for now, and what is measured of it."""

    broker = serializers.CharField()
    in_force_rate_per_s = serializers.FloatField(help_text="As approved, msg/s.")
    in_force_size = serializers.FloatField(help_text="As approved, messages.")
    rate_per_s = serializers.FloatField(help_text="What the broker is asked for now, msg/s.")
    size = serializers.FloatField(help_text="What the broker is asked for now, messages.")
    is_confirmed = serializers.BooleanField(help_text="Its agent shows what is asked for.")
    is_silent = serializers.BooleanField(
        help_text="Its agent holds no lease, or measured too little of the window: its part stays."
    )
    offered_per_s = serializers.FloatField(
        allow_null=True, help_text="Mean of the window, msg/s; null: not measured."
    )
    passed_per_s = serializers.FloatField(allow_null=True, help_text="Mean of the window, msg/s.")
    waiting = serializers.FloatField(
        allow_null=True, help_text="Messages that wait at the gate, lately."
    )
    work_peak = serializers.FloatField(
        allow_null=True,
        help_text="The largest unfinished work of the window: missing tokens and what waits, "
        "messages.",
    )


class PartSizesSerializer(serializers.Serializer[Any]):
    """Describe rate and size of a part."""

    rate_per_s = serializers.FloatField(help_text="Messages per second.")
    size = serializers.FloatField(help_text="Messages.")


class PartMoveSerializer(serializers.Serializer[Any]):
    """Describe how one decision changes one broker's part."""

    broker = serializers.CharField()
    before = PartSizesSerializer()
    after = PartSizesSerializer()


class AdaptationDecisionSerializer(serializers.Serializer[Any]):
    """Describe one decision: parts shrink, are confirmed, then others grow."""

    id = serializers.IntegerField()
    at = serializers.DateTimeField()
    cause = serializers.ChoiceField(choices=DecisionCause.choices)
    sentence = serializers.CharField(help_text="Why parts move, for a person.")
    state = serializers.ChoiceField(choices=DECISION_STATES)
    shrunk_at = serializers.DateTimeField(
        allow_null=True, help_text="When larger parts were asked for; null: not yet, or never."
    )
    ended_at = serializers.DateTimeField(allow_null=True)
    because = serializers.CharField(help_text="Why it was given up, or what it waits for.")
    moves = PartMoveSerializer(many=True)


class AdaptationSerializer(serializers.Serializer[Any]):
    """Describe how the parts of a topic's bucket follow its traffic."""

    state = serializers.ChoiceField(choices=ADAPTATION_STATES)
    because = serializers.CharField(help_text="What holds it, or what it waits for.")
    window_s = serializers.FloatField(
        allow_null=True, help_text="History that decides, s; null: no order is in force."
    )
    period_s = serializers.FloatField(allow_null=True, help_text="Between two decisions, s.")
    least_share = serializers.FloatField(
        allow_null=True,
        help_text="Share of the bucket that an idle broker keeps where demand leaves enough; a "
        "tenth of that it always keeps.",
    )
    since = serializers.DateTimeField(allow_null=True, help_text="When the order came into force.")
    stopped_at = serializers.DateTimeField(allow_null=True)
    stopped_by = serializers.CharField(help_text="Who stopped it; empty: nobody.")
    note = serializers.CharField(help_text="Why it was stopped.")
    contract = BucketContractSerializer(
        allow_null=True, help_text="Kept whatever moves; null: no part is enforced."
    )
    parts = AdaptedPartSerializer(many=True)
    decisions = AdaptationDecisionSerializer(many=True, help_text="The newest first, 20 at most.")
    allowed_commands = serializers.ListField(
        child=serializers.ChoiceField(choices=ADAPTATION_COMMANDS)
    )


class AdaptationNoteSerializer(Form[dict[str, Any]]):
    """Read why an adaptation is stopped or resumed, for the record."""

    note = serializers.CharField(
        max_length=400, required=False, allow_blank=True, default="", help_text="For the record."
    )
