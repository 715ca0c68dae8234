"""What studies look like over REST."""

from typing import Any

from rest_framework import serializers

from apps.accounts.api.permissions import granted
from apps.accounts.domain.roles import Permission
from apps.allocations.models import Allocation
from apps.common.api.forms import Form
from apps.runs.api.views import RUN_STATES, RunSerializer
from apps.studies.models import Study, StudyKind, StudyPoint
from apps.studies.services.points import FIELDS
from apps.systems.api.entities import Reference, SystemReference
from weir.lifecycle.runs import ENDED, RunState


class StudyCheckRequestSerializer(Form[dict[str, Any]]):
    """Which system, and what to ask of it."""

    system = SystemReference()
    spec = serializers.DictField(help_text="A sweep or a schedule, as docs/what-if.md describes.")
    allocation = Reference(
        Allocation,
        required=False,
        allow_null=True,
        default=None,
        help_text="Study its snapshot instead of the model as it is now.",
    )


class StudyRequestSerializer(StudyCheckRequestSerializer):
    """Which system, what to ask of it, and what to call the study."""

    name = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=200,
        default="",
        help_text="Default: what varies.",
    )


class StudyChangeSerializer(Form[dict[str, Any]]):
    """What of a study may change."""

    name = serializers.CharField(max_length=200)


class StudyCheckSerializer(serializers.Serializer[Any]):
    """What a study would need."""

    points = serializers.IntegerField(help_text="Answers to compute.")
    estimated_s = serializers.FloatField(
        allow_null=True, help_text="By how long such answers took before; null where none did."
    )
    spec = serializers.DictField(help_text="As it would be kept, every default written out.")


class StudySerializer(serializers.ModelSerializer[Study]):
    """A study without its points."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    system = serializers.UUIDField(source="system.public_id", read_only=True)
    system_name = serializers.CharField(source="system.name", read_only=True)
    kind = serializers.ChoiceField(choices=StudyKind.choices, read_only=True)
    state = serializers.ChoiceField(source="run.state", choices=RUN_STATES, read_only=True)
    run = serializers.UUIDField(source="run.public_id", read_only=True)
    run_number = serializers.IntegerField(source="run.pk", read_only=True)
    allocation = serializers.UUIDField(
        source="allocation.public_id", read_only=True, allow_null=True, default=None
    )
    allocation_number = serializers.IntegerField(
        source="allocation.number", read_only=True, allow_null=True, default=None
    )
    author = serializers.CharField(
        source="author.display_name", read_only=True, allow_null=True, default=None
    )
    model_version = serializers.IntegerField(
        source="run.snapshot.model_version", read_only=True, allow_null=True
    )
    snapshot_hash = serializers.CharField(source="run.snapshot.content_hash", read_only=True)
    result_hash = serializers.CharField(
        source="run.result.content_hash", read_only=True, allow_null=True, default=None
    )
    failure = serializers.CharField(source="run.failure", read_only=True)
    cancel_requested = serializers.SerializerMethodField()
    started_at = serializers.DateTimeField(source="run.started_at", read_only=True, allow_null=True)
    finished_at = serializers.DateTimeField(
        source="run.finished_at", read_only=True, allow_null=True
    )
    points_done = serializers.IntegerField(read_only=True)
    allowed_commands = serializers.SerializerMethodField()

    class Meta:
        model = Study
        fields = [
            "id",
            "number",
            "name",
            "kind",
            "system",
            "system_name",
            "state",
            "run",
            "run_number",
            "allocation",
            "allocation_number",
            "author",
            "model_version",
            "snapshot_hash",
            "result_hash",
            "failure",
            "cancel_requested",
            "created_at",
            "started_at",
            "finished_at",
            "points_done",
            "points_total",
            "version",
            "allowed_commands",
        ]
        read_only_fields = fields

    def get_cancel_requested(self, study: Study) -> bool:
        return study.run.cancel_requested_at is not None

    def get_allowed_commands(self, study: Study) -> list[str]:
        request = self.context.get("request")
        if request is None or Permission.START_RUN not in granted(request):
            return []
        commands = RunSerializer(context=self.context).get_allowed_commands(study.run)
        ended = RunState(study.run.state) in ENDED
        return [*commands, "rename", *(["delete"] if ended else [])]


class StudyDetailSerializer(StudySerializer):
    """A study with what it asks."""

    spec = serializers.DictField(read_only=True)

    class Meta(StudySerializer.Meta):
        fields = [*StudySerializer.Meta.fields, "spec"]
        read_only_fields = fields


class PriceSerializer(serializers.Serializer[dict[str, Any]]):
    """What one more unit of a resource is worth."""

    kind = serializers.CharField(help_text="node or link")
    id = serializers.CharField()
    resource = serializers.CharField(allow_null=True)
    price = serializers.FloatField()


class GroupCountSerializer(serializers.Serializer[dict[str, Any]]):
    """Admitted over wanted of one group of classes."""

    name = serializers.CharField()
    admitted = serializers.IntegerField()
    wanted = serializers.IntegerField()


class StudyPointSerializer(serializers.ModelSerializer[StudyPoint]):
    """The answer to one scenario with one method."""

    coordinates = serializers.ListField(
        child=serializers.JSONField(),
        read_only=True,
        help_text="One per axis: a number, or an id.",
    )
    quantities = serializers.ListField(
        child=serializers.FloatField(allow_null=True),
        read_only=True,
        help_text="What the axis set, in units of work per second or consumers.",
    )
    marginals = serializers.ListField(
        child=serializers.FloatField(allow_null=True),
        read_only=True,
        help_text="Utility per unit of that quantity.",
    )
    prices = PriceSerializer(many=True, read_only=True)
    groups = GroupCountSerializer(many=True, read_only=True)
    division = serializers.DictField(
        child=serializers.FloatField(),
        read_only=True,
        help_text="What each node gets of a budget divided where it is worth most.",
    )
    rates = serializers.DictField(
        child=serializers.FloatField(), read_only=True, allow_null=True, help_text="msg/s by flow"
    )

    class Meta:
        model = StudyPoint
        fields = list(FIELDS)
        read_only_fields = fields
