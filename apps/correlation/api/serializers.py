"""Read requests for analyses and decisions, and describe analyses and suggestions."""

import unicodedata
from dataclasses import fields
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.accounts.api.permissions import granted
from apps.accounts.domain.roles import Permission
from apps.catalog.models import Topic
from apps.common.api.fields import Amount, choices, command_list
from apps.common.api.forms import Form
from apps.correlation.models import SUGGESTION_STATES, CorrelationAnalysis, Kind, Source, Suggestion
from apps.correlation.selectors.measured import MOST_MINUTES
from apps.correlation.selectors.recordings import LONGEST
from apps.correlation.selectors.suggestions import Facts
from apps.correlation.services.computation import DEFAULT
from apps.runs.api.views import RUN_COMMANDS, RunSerializer
from apps.systems.api.entities import Reference, SystemReference
from weir.correlation.activity import Search
from weir.lifecycle.suggestions import SUGGESTIONS, SuggestionCommand, SuggestionState

SUGGESTION_COMMANDS = choices(*SuggestionCommand)
NAME_LENGTH = 200
NOTE_LENGTH = 2000


def _bounds(name: str) -> dict[str, Any]:
    """Return the bounds of a parameter of the search, which are the kernel's."""
    (about,) = (spec.metadata for spec in fields(Search) if spec.name == name)
    return {"min_value": about["min"], "max_value": about["max"]}


class CorrelationRequestSerializer(Form[dict[str, Any]]):
    """Read whose messages to search for bursts, and what counts as together."""

    system = SystemReference()
    topic = Reference(Topic)
    source = serializers.ChoiceField(  # type: ignore[assignment]
        choices=Source.choices, required=False, default=Source.MEASURED.value
    )
    minutes = Amount(
        required=False,
        default=float(MOST_MINUTES),
        min_value=1,
        max_value=MOST_MINUTES,
        help_text="Of what agents measured: the last so many minutes.",
    )
    recording = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        max_length=LONGEST,
        help_text="A name from /recordings, where the source is `recording`.",
    )
    within_s = Amount(
        required=False,
        default=DEFAULT.within_s,
        **_bounds("within_s"),
        help_text="How far apart messages are at most that came together, s.",
    )
    least_share = Amount(
        required=False,
        default=DEFAULT.least_share,
        **_bounds("least_share"),
        help_text="Share of the moments of the publisher with fewer that are together at least.",
    )
    smallest_group = serializers.IntegerField(
        required=False, default=DEFAULT.smallest_group, **_bounds("smallest_group")
    )
    note = serializers.CharField(
        required=False, allow_blank=True, default="", max_length=NOTE_LENGTH, help_text="Why."
    )

    # The view's context is one mutable dict, which also holds what reading computes.
    context: dict[str, Any]

    def to_internal_value(self, data: Any) -> Any:
        # The topic is looked up within the system, so that must be known before.
        if isinstance(data, dict):
            try:
                system = self.fields["system"].to_internal_value(data.get("system"))
            except serializers.ValidationError:
                system = None
            self.context["system"] = system
        return super().to_internal_value(data)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["source"] == Source.RECORDING and not attrs["recording"]:
            raise serializers.ValidationError({"recording": "Name a recording from /recordings."})
        if attrs["source"] == Source.MEASURED and attrs["recording"]:
            raise serializers.ValidationError(
                {"recording": "Only for source `recording`: leave it out, or change the source."}
            )
        return attrs


class DecisionSerializer(Form[dict[str, Any]]):
    """Read why a suggestion is rejected, or its decision taken back."""

    note = serializers.CharField(
        required=False, allow_blank=True, default="", max_length=NOTE_LENGTH, help_text="Why."
    )
    model_version = serializers.IntegerField(
        required=False,
        allow_null=True,
        default=None,
        min_value=0,
        max_value=2**31 - 1,
        help_text="As the suggestion was read with: where keys of its publishers were changed "
        "since, the command is refused.",
    )


class AcceptanceSerializer(DecisionSerializer):
    """Read which key the members of a suggestion get, and who of them."""

    name = serializers.CharField(
        max_length=NAME_LENGTH, help_text="A correlation key; made where there is none yet."
    )
    replace = serializers.BooleanField(
        required=False, default=False, help_text="Whether those that have another key get it, too."
    )

    def validate_name(self, name: str) -> str:
        if any(unicodedata.category(character) == "Cc" for character in name):
            raise serializers.ValidationError("Holds a control character, such as a line break.")
        return name


class CorrelationAnalysisSerializer(serializers.ModelSerializer[CorrelationAnalysis]):
    """Describe an analysis without its suggestions."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    name = serializers.CharField(source="__str__", read_only=True, help_text="Such as `C-3`.")
    system = serializers.UUIDField(source="system.public_id", read_only=True)
    system_name = serializers.CharField(source="system.name", read_only=True)
    topic = serializers.UUIDField(
        source="topic.public_id",
        read_only=True,
        allow_null=True,
        default=None,
        help_text="Null: the topic was deleted since.",
    )
    source = serializers.ChoiceField(  # type: ignore[assignment]
        choices=Source.choices, read_only=True
    )
    run = serializers.UUIDField(source="run.public_id", read_only=True)
    run_number = serializers.IntegerField(source="run.pk", read_only=True)
    asked_by = serializers.CharField(
        source="run.asked_by.display_name", read_only=True, allow_null=True, default=None
    )
    asked_by_id = serializers.UUIDField(
        source="run.asked_by.public_id", read_only=True, allow_null=True, default=None
    )
    updated_at = serializers.DateTimeField(source="changed_at", read_only=True)
    allowed_commands = serializers.SerializerMethodField()

    class Meta:
        model = CorrelationAnalysis
        fields = [
            "id",
            "name",
            "number",
            "system",
            "system_name",
            "topic",
            "topic_name",
            "source",
            "recording",
            "since",
            "until",
            "within_s",
            "publishers",
            "judged",
            "periodic",
            "groups",
            "note",
            "run",
            "run_number",
            "asked_by",
            "asked_by_id",
            "created_at",
            "updated_at",
            "allowed_commands",
        ]
        read_only_fields = fields

    @extend_schema_field(command_list(RUN_COMMANDS))
    def get_allowed_commands(self, analysis: CorrelationAnalysis) -> list[str]:
        return RunSerializer(context=self.context).get_allowed_commands(analysis.run)


class CorrelationSearchSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe what counted as together."""

    within_s = serializers.FloatField()
    least_share = serializers.FloatField()
    smallest_group = serializers.IntegerField()
    false_groups = serializers.FloatField(
        help_text="Groups that chance may give in the whole analysis, on average."
    )


class PeriodSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe publishers that keep one period, whatever their phases are."""

    period_s = serializers.FloatField()
    publishers = serializers.IntegerField()
    grouped = serializers.IntegerField(help_text="How many of them are in a suggestion.")


class CorrelationOutcomeSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe what was searched, and how much of it could be judged."""

    format = serializers.IntegerField()
    topic = serializers.CharField()
    method = serializers.CharField()
    search = CorrelationSearchSerializer()
    since_s = serializers.FloatField(help_text="Unix seconds.")
    until_s = serializers.FloatField(help_text="Unix seconds.")
    messages = serializers.IntegerField()
    publishers = serializers.IntegerField(help_text="Publishers with known moments.")
    judged = serializers.IntegerField(help_text="Those with enough moments to be told from chance.")
    too_few = serializers.IntegerField(help_text="Those with fewer.")
    periodic = serializers.IntegerField(help_text="Those that keep a period.")
    untimed = serializers.IntegerField(
        help_text="Further publishers that sent too often for their moments to be told apart."
    )
    periods = PeriodSerializer(many=True, help_text="The largest, most publishers first.")


class LeftOutSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe what was not searched of what agents measured."""

    wrong_clock = serializers.IntegerField(
        help_text="Publishers without a moment, because their brokers' clocks are wrong by minutes."
    )
    unreported = serializers.IntegerField(
        help_text="Connections of publishers, of any topic, of which agents report nothing, because"
        " their brokers have more than 5,000."
    )
    shortened = serializers.BooleanField(
        help_text="Whether the oldest reports were left out because there are too many."
    )


class CorrelationAnalysisDetailSerializer(CorrelationAnalysisSerializer):
    """Describe an analysis with what was searched, and how far its suggestions are decided."""

    snapshot_hash = serializers.CharField(source="run.snapshot.content_hash", read_only=True)
    model_version = serializers.IntegerField(source="run.snapshot.model_version", read_only=True)
    parameters = serializers.DictField(source="run.parameters", read_only=True)
    outcome = CorrelationOutcomeSerializer(read_only=True)
    left_out = LeftOutSerializer(
        read_only=True, allow_null=True, help_text="Null: a recording was searched."
    )
    open = serializers.IntegerField(read_only=True, help_text="Suggestions to be decided.")
    accepted = serializers.IntegerField(read_only=True, help_text="Suggestions that became keys.")
    rejected = serializers.IntegerField(read_only=True, help_text="Suggestions that became none.")

    class Meta(CorrelationAnalysisSerializer.Meta):
        fields = [
            *CorrelationAnalysisSerializer.Meta.fields,
            "snapshot_hash",
            "model_version",
            "parameters",
            "outcome",
            "left_out",
            "open",
            "accepted",
            "rejected",
        ]
        read_only_fields = fields


class ExampleRowSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe when one member sent in the stretch that is shown."""

    publisher = serializers.CharField()
    at_s = serializers.ListField(child=serializers.FloatField(), help_text="Unix seconds.")


class BurstExampleSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe a stretch of the window in which members burst."""

    since_s = serializers.FloatField()
    until_s = serializers.FloatField()
    rows = ExampleRowSerializer(many=True, help_text="Some of the members, the leader first.")


class KeyNowSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe a correlation key that members carry now."""

    name = serializers.CharField()
    publishers = serializers.IntegerField()


class RejectedBeforeSerializer(serializers.Serializer[Suggestion]):
    """Describe a suggestion of nearly the same publishers that somebody rejected."""

    id = serializers.UUIDField(source="public_id")
    analysis = serializers.CharField(source="analysis.__str__", help_text="Such as `C-3`.")
    analysis_id = serializers.UUIDField(source="analysis.public_id")
    at = serializers.DateTimeField(source="decided_at")
    by = serializers.CharField(
        source="decided_by.display_name",
        allow_null=True,
        default=None,
        help_text="Null: an account that is no more.",
    )
    note = serializers.CharField()


class UndoSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe what taking an acceptance back would change."""

    publishers = serializers.IntegerField(
        help_text="Those that got the key and carry it still; they lose it."
    )
    get_another = serializers.IntegerField(
        help_text="How many of these get back another key; the rest has none."
    )
    left_alone = serializers.IntegerField(
        help_text="Those that got the key and carry another or none by now, or were deleted."
    )
    key_goes = serializers.BooleanField(
        help_text="Whether the key is deleted: it was made for them, and nobody else carries it."
    )


class SuggestionSerializer(serializers.ModelSerializer[Suggestion]):
    """Describe publishers that may get one correlation key; the context holds `facts` by row."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    kind = serializers.ChoiceField(choices=Kind.choices, read_only=True)
    state = serializers.ChoiceField(choices=SUGGESTION_STATES, read_only=True)
    example = BurstExampleSerializer(read_only=True)
    decided_by = serializers.CharField(
        source="decided_by.display_name", read_only=True, allow_null=True, default=None
    )
    decided_by_id = serializers.UUIDField(
        source="decided_by.public_id", read_only=True, allow_null=True, default=None
    )
    key_id = serializers.UUIDField(
        read_only=True, allow_null=True, help_text="The key that was given; null: none was."
    )
    name = serializers.SerializerMethodField(
        help_text="The key that was given; else a name for it that is not taken."
    )
    in_catalogue = serializers.SerializerMethodField(
        help_text="Members that the catalogue has as publishers of the topic."
    )
    keys_now = serializers.SerializerMethodField(
        help_text="Keys that these carry now, most publishers first."
    )
    without_key = serializers.SerializerMethodField(help_text="How many of these carry none.")
    same_as_key = serializers.SerializerMethodField(
        help_text="The key that all of these carry already; else empty."
    )
    rejected_before = serializers.SerializerMethodField(
        help_text="The latest rejected suggestion of the topic that has at least four of five "
        "members in common with this one; null: none, or this one is decided."
    )
    model_version = serializers.SerializerMethodField(
        help_text="Of the model when this was read; commands may name it."
    )
    undo = serializers.SerializerMethodField(
        help_text="What taking the acceptance back would change; null: it is not accepted."
    )
    allowed_commands = serializers.SerializerMethodField()

    class Meta:
        model = Suggestion
        fields = [
            "id",
            "number",
            "kind",
            "size",
            "share",
            "by_chance",
            "spread_s",
            "bursts",
            "period_s",
            "phase_s",
            "rate_per_s",
            "example",
            "state",
            "decided_at",
            "decided_by",
            "decided_by_id",
            "note",
            "key_id",
            "key_name",
            "effect",
            "name",
            "in_catalogue",
            "keys_now",
            "without_key",
            "same_as_key",
            "rejected_before",
            "model_version",
            "undo",
            "allowed_commands",
        ]
        read_only_fields = fields

    def _facts(self, suggestion: Suggestion) -> Facts:
        facts: Facts = self.context["facts"][suggestion.pk]
        return facts

    def get_name(self, suggestion: Suggestion) -> str:
        return self._facts(suggestion).name

    def get_in_catalogue(self, suggestion: Suggestion) -> int:
        return self._facts(suggestion).in_catalogue

    @extend_schema_field(KeyNowSerializer(many=True))
    def get_keys_now(self, suggestion: Suggestion) -> list[dict[str, Any]]:
        return self._facts(suggestion).keys_now

    def get_without_key(self, suggestion: Suggestion) -> int:
        return self._facts(suggestion).without_key

    def get_same_as_key(self, suggestion: Suggestion) -> str:
        return self._facts(suggestion).same_as_key

    def get_model_version(self, suggestion: Suggestion) -> int:
        return self._facts(suggestion).model_version

    @extend_schema_field(UndoSerializer(allow_null=True))
    def get_undo(self, suggestion: Suggestion) -> dict[str, Any] | None:
        return self._facts(suggestion).undo

    @extend_schema_field(RejectedBeforeSerializer(allow_null=True))
    def get_rejected_before(self, suggestion: Suggestion) -> Any:
        rejected = self._facts(suggestion).rejected_before
        return None if rejected is None else RejectedBeforeSerializer(rejected).data

    @extend_schema_field(command_list(SUGGESTION_COMMANDS))
    def get_allowed_commands(self, suggestion: Suggestion) -> list[str]:
        request = self.context.get("request")
        if request is None or Permission.EDIT_MODEL not in granted(request):
            return []
        return [command.value for command in SUGGESTIONS.table[SuggestionState(suggestion.state)]]


class MemberSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe a member of a suggestion, with its publisher in the catalogue."""

    publisher = serializers.CharField(help_text="Its name.")
    id = serializers.UUIDField(
        allow_null=True, help_text="Null: the catalogue has no such publisher of the topic."
    )
    correlation_key = serializers.CharField(help_text="What it carries now; empty: none.")


class RecordingSerializer(serializers.Serializer[Any]):
    """Describe a recording of messages."""

    name = serializers.CharField()
    bytes = serializers.IntegerField()
    modified_at = serializers.DateTimeField()


class PublisherTimesSerializer(serializers.Serializer[Any]):
    """Describe how much agents measured of a topic's publishers in the last half hour."""

    publishers = serializers.IntegerField(help_text="Those in the catalogue.")
    heard = serializers.IntegerField(help_text="Those of which agents reported messages.")
    timed = serializers.IntegerField(help_text="Those with moments that can be told apart.")
    wrong_clock = serializers.IntegerField(
        help_text="Those without, because the clocks of their brokers are wrong by minutes."
    )
    unreported = serializers.IntegerField(
        help_text="Connections of publishers, of any topic, of which agents report nothing, because"
        " their brokers have more than 5,000."
    )
    shortened = serializers.BooleanField(
        help_text="Whether there are older reports that were not read for this answer."
    )
    since = serializers.DateTimeField(allow_null=True, help_text="The first moment; null: none.")
    until = serializers.DateTimeField(allow_null=True, help_text="The last moment; null: none.")
    messages = serializers.IntegerField()
