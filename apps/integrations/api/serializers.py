"""Shape connections and changes for the REST API."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.accounts.api.permissions import granted
from apps.accounts.domain.roles import Permission
from apps.catalog.api.views import ParameterDescriptionSerializer
from apps.common.api.fields import choices, command_list
from apps.common.api.forms import Form
from apps.integrations.connectors import product_choices
from apps.integrations.domain.contract import Approval, Ending
from apps.integrations.models import Connection, MessageKind
from apps.systems.api.entities import SystemReference
from weir.lifecycle.changes import ChangeState

PRODUCTS = product_choices()
CONNECTION_COMMANDS = choices("edit", "delete", "test")
CHANGE_STATES = choices(*ChangeState)
APPROVALS = choices(*Approval)
ENDINGS = choices(*Ending)


class TroubledChangeSerializer(serializers.Serializer[Any]):
    """Describe a change that cannot be read, and why."""

    id = serializers.UUIDField(source="public_id")
    number = serializers.CharField(help_text="Its number there.")
    plan = serializers.UUIDField(source="plan.public_id")
    plan_name = serializers.CharField(source="plan.__str__")
    problem = serializers.CharField()
    next_look_at = serializers.DateTimeField(allow_null=True, help_text="When it is tried again.")


class ConnectionSerializer(Form[Connection]):
    """Describe a connection to a product in which plans open their changes."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    name = serializers.CharField(max_length=100)
    product = serializers.ChoiceField(
        choices=PRODUCTS, help_text="Cannot be changed later. See /connection-products."
    )
    enabled = serializers.BooleanField(
        required=False, help_text="false: nothing is sent, and no plan waits for its change."
    )
    settings = serializers.DictField(
        help_text="As /connection-products lists them; replaced as a whole. While changes are not "
        "closed, `address` stays at the same server: scheme, host and port."
    )
    credential = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=300,
        help_text="Where the credential is: `env:WEIR_CREDENTIAL_…` or `file:/…`. The credential "
        "itself is never stored and never shown.",
    )
    approval_needed = serializers.BooleanField(
        required=False, help_text="Plans are executed only once their change is approved there."
    )
    window_from_change = serializers.BooleanField(
        required=False, help_text="Plans are executed only between start and end of their change."
    )
    systems = SystemReference(
        many=True,
        required=False,
        help_text="Systems whose plans open their changes here; a system has one connection.",
    )
    system_names = serializers.SerializerMethodField(help_text="The same by name.")
    problem = serializers.CharField(
        read_only=True, help_text="Why the other side does not answer; empty: it does."
    )
    retry_at = serializers.DateTimeField(
        read_only=True, allow_null=True, help_text="When it is tried again; null: at once."
    )
    answered_at = serializers.DateTimeField(
        read_only=True, allow_null=True, help_text="When it answered last; null: never."
    )
    waiting = serializers.IntegerField(
        read_only=True, help_text="Messages that wait to be sent; see /waiting-messages."
    )
    troubled = TroubledChangeSerializer(
        many=True,
        read_only=True,
        help_text="Changes that cannot be read, at most 20; the others go on.",
    )
    version = serializers.IntegerField(read_only=True)
    created_at = serializers.DateTimeField(read_only=True)
    updated_at = serializers.DateTimeField(read_only=True)
    allowed_commands = serializers.SerializerMethodField()
    reason = serializers.CharField(
        write_only=True, required=False, allow_blank=True, max_length=500
    )

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_system_names(self, row: Connection) -> list[str]:
        return [system.name for system in row.systems.all()]

    @extend_schema_field(command_list(CONNECTION_COMMANDS))
    def get_allowed_commands(self, row: Any) -> list[str]:
        request = self.context.get("request")
        if request is None or Permission.ADMINISTER not in granted(request):
            return []
        return ["edit", "test"] if row.used else ["edit", "delete", "test"]


class ConnectionTestSerializer(serializers.Serializer[Any]):
    """Describe what came of a test of a connection."""

    works = serializers.BooleanField()
    detail = serializers.CharField(help_text="What answered, or why nothing did.")


class ConnectionProductSerializer(serializers.Serializer[Any]):
    """Describe a product that changes can be opened in, with its settings."""

    name = serializers.ChoiceField(choices=PRODUCTS)
    title = serializers.CharField()
    settings = ParameterDescriptionSerializer(many=True)


class ExchangeSerializer(serializers.Serializer[Any]):
    """Describe one request to the other side with its answer; secrets are masked."""

    id = serializers.IntegerField(source="pk")
    connection = serializers.UUIDField(source="connection.public_id")
    connection_name = serializers.CharField(source="connection.name")
    change = serializers.UUIDField(source="change.public_id", allow_null=True, default=None)
    change_name = serializers.CharField(
        source="change.number", allow_null=True, default=None, help_text="Its number there."
    )
    at = serializers.DateTimeField(help_text="The last time.")
    first_at = serializers.DateTimeField(help_text="The first time.")
    times = serializers.IntegerField(
        help_text="Requests that read, one after the other, and were answered alike."
    )
    method = serializers.CharField()
    address = serializers.CharField()
    answer_status = serializers.IntegerField(
        source="status", allow_null=True, help_text="null: there was no answer."
    )
    request = serializers.CharField(help_text="The body sent; its first 4,000 characters.")
    response = serializers.CharField(help_text="The body answered; its first 4,000 characters.")
    failure = serializers.CharField(help_text="Why there was no answer; empty: there was.")
    seconds = serializers.FloatField(help_text="How long it took, s.")


class WaitingMessageSerializer(serializers.Serializer[Any]):
    """Describe what waits to be sent about a change, and why."""

    id = serializers.UUIDField(source="public_id")
    connection = serializers.UUIDField(source="change.connection.public_id")
    connection_name = serializers.CharField(source="change.connection.name")
    change = serializers.UUIDField(source="change.public_id")
    change_name = serializers.CharField(
        source="change.number", help_text="Its number there; empty: not opened yet."
    )
    plan = serializers.UUIDField(source="change.plan.public_id")
    plan_name = serializers.CharField(source="change.plan.__str__")
    kind = serializers.ChoiceField(choices=MessageKind.choices)
    created_at = serializers.DateTimeField()
    attempts = serializers.IntegerField()
    next_at = serializers.DateTimeField(
        source="due_at", help_text="When it is tried next, at the earliest."
    )
    problem = serializers.CharField(help_text="Why the last attempt failed; empty: none did.")


class OpenedChangeSerializer(serializers.Serializer[Any]):
    """Describe the change that a plan opened at the other side."""

    id = serializers.UUIDField(source="public_id", help_text="Its correlation id there.")
    connection = serializers.UUIDField(source="connection.public_id")
    connection_name = serializers.CharField(source="connection.name")
    product = serializers.ChoiceField(source="connection.product", choices=PRODUCTS)
    state = serializers.ChoiceField(choices=CHANGE_STATES)
    number = serializers.CharField(help_text="Its number there; empty: not known yet.")
    link = serializers.CharField(help_text="Where people read it there; empty: not known.")
    state_there = serializers.CharField(help_text="As people there see it; empty: not read yet.")
    approval = serializers.ChoiceField(choices=APPROVALS)
    is_approval_needed = serializers.BooleanField(
        source="connection.approval_needed", help_text="false: nobody waits for an approval there."
    )
    is_over_there = serializers.BooleanField(
        source="over_there", help_text="Somebody closed or cancelled it there."
    )
    starts_at = serializers.DateTimeField(allow_null=True, help_text="Planned start there.")
    ends_at = serializers.DateTimeField(allow_null=True, help_text="Planned end there.")
    looked_at = serializers.DateTimeField(
        allow_null=True, help_text="When its state was read last; null: not yet."
    )
    problem = serializers.CharField(help_text="Why it cannot be read; empty: it can.")
    ending = serializers.ChoiceField(
        choices=ENDINGS, allow_blank=True, help_text="How it ends; empty: it goes on."
    )
    created_at = serializers.DateTimeField()
    opened_at = serializers.DateTimeField(allow_null=True)
    closed_at = serializers.DateTimeField(allow_null=True)


class ChangeOfPlanSerializer(serializers.Serializer[Any]):
    """Describe a plan's change, and whether executing waits for it."""

    connection = serializers.UUIDField(
        source="connection.public_id",
        allow_null=True,
        default=None,
        help_text="Where plans of the system open their changes now; null: nowhere.",
    )
    connection_name = serializers.CharField(source="connection.name", allow_null=True, default=None)
    change = OpenedChangeSerializer(allow_null=True, help_text="The latest one; null: none yet.")
    allows = serializers.BooleanField(help_text="The change does not keep the plan from executing.")
    because = serializers.CharField(help_text="Why the plan may not be executed yet.")
    waiting = WaitingMessageSerializer(many=True, help_text="What waits to be sent about it.")
