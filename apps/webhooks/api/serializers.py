"""Shape webhooks and deliveries for the REST API."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.accounts.api.permissions import granted
from apps.accounts.domain.roles import Permission
from apps.common.api.fields import choices, command_list
from apps.common.api.forms import Form
from apps.systems.api.entities import SystemReference
from apps.webhooks.domain.event_types import MOST
from apps.webhooks.models import Attempt, Delivery, Webhook
from apps.webhooks.services.webhooks import server_shown
from weir.lifecycle.deliveries import DeliveryState

WEBHOOK_COMMANDS = choices("edit", "delete", "test", "rotate")
DELIVERY_STATES = choices(*DeliveryState)
DELIVERY_COMMANDS = choices("redeliver")
LONGEST_OVERLAP_H = 168


def may_administer(serializer: serializers.BaseSerializer[Any]) -> bool:
    """Return whether the caller may change webhooks."""
    request = serializer.context.get("request")
    return request is not None and Permission.ADMINISTER in granted(request)


class WebhookSerializer(Form[Webhook]):
    """Describe where events are sent to, and which."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    name = serializers.CharField(max_length=100)
    description = serializers.CharField(max_length=300, required=False, allow_blank=True)
    address = serializers.CharField(
        max_length=2000,
        help_text="Where events are posted. Who is no administrator sees its server alone.",
    )
    types = serializers.ListField(
        child=serializers.CharField(max_length=140),
        min_length=1,
        max_length=MOST,
        help_text="Types of events as /event-types lists them, `weir.plan.*` for a kind, `*` for "
        "all but accounts, tokens and sign-ins.",
    )
    all_systems = serializers.BooleanField(
        required=False,
        help_text="true: events of all systems, and those of none; else those of `systems`.",
    )
    systems = SystemReference(many=True, required=False)
    system_names = serializers.SerializerMethodField(help_text="The same by name.")
    enabled = serializers.BooleanField(required=False, help_text="false: nothing is sent.")
    disabled_because = serializers.CharField(
        read_only=True, help_text="Why it is disabled; empty: it is not."
    )
    secret_fingerprint = serializers.CharField(
        source="fingerprint",
        read_only=True,
        help_text="The first 8 digits of the SHA-256 of the secret, to compare.",
    )
    previous_until = serializers.DateTimeField(
        read_only=True,
        allow_null=True,
        help_text="Until then messages are signed with the secret before as well.",
    )
    problem = serializers.CharField(
        read_only=True, help_text="Why the last message was not taken; empty: it was."
    )
    failing_since = serializers.DateTimeField(
        read_only=True, allow_null=True, help_text="Since when nothing was taken; null: it is."
    )
    retry_at = serializers.DateTimeField(
        read_only=True, allow_null=True, help_text="Until then it is left alone."
    )
    answered_at = serializers.DateTimeField(
        read_only=True, allow_null=True, help_text="When it took a message last; null: never."
    )
    waiting = serializers.IntegerField(read_only=True, help_text="Deliveries that wait.")
    version = serializers.IntegerField(read_only=True)
    created_at = serializers.DateTimeField(read_only=True)
    updated_at = serializers.DateTimeField(read_only=True)
    allowed_commands = serializers.SerializerMethodField()
    reason = serializers.CharField(
        write_only=True, required=False, allow_blank=True, max_length=500
    )

    def to_representation(self, instance: Webhook) -> Any:
        row = super().to_representation(instance)
        if not may_administer(self):
            row["address"] = server_shown(instance.address)
        return row

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_system_names(self, row: Webhook) -> list[str]:
        return [system.name for system in row.systems.all()]

    @extend_schema_field(command_list(WEBHOOK_COMMANDS))
    def get_allowed_commands(self, row: Webhook) -> list[str]:
        if not may_administer(self):
            return []
        return ["edit", "delete", "rotate", *(["test"] if row.enabled else [])]


class NewWebhookSerializer(WebhookSerializer):
    """Describe a webhook together with its secret, which is shown this once."""

    secret = serializers.CharField(
        read_only=True, help_text="`whsec_…`: what receivers verify signatures with."
    )


class RotationSerializer(Form[dict[str, Any]]):
    """Say how long the present secret stays valid beside the new one."""

    keep_previous_h = serializers.IntegerField(
        min_value=0,
        max_value=LONGEST_OVERLAP_H,
        default=24,
        help_text="Hours in which messages are signed with both.",
    )
    reason = serializers.CharField(required=False, allow_blank=True, max_length=500)


class DeliverySerializer(serializers.Serializer[Delivery]):
    """Describe one event for one webhook."""

    id = serializers.UUIDField(
        source="public_id", help_text="The `webhook-id` of each of its attempts."
    )
    webhook = serializers.UUIDField(source="webhook.public_id")
    webhook_name = serializers.CharField(source="webhook.name")
    type = serializers.CharField()
    subject = serializers.CharField(help_text="What it is about: kind and id.")
    state = serializers.ChoiceField(choices=DELIVERY_STATES)
    attempts = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    next_at = serializers.DateTimeField(help_text="When it is tried next, while it waits.")
    ended_at = serializers.DateTimeField(allow_null=True)
    problem = serializers.CharField(help_text="Why the last attempt failed; empty: it did not.")
    allowed_commands = serializers.SerializerMethodField()

    @extend_schema_field(command_list(DELIVERY_COMMANDS))
    def get_allowed_commands(self, row: Delivery) -> list[str]:
        return ["redeliver"] if may_administer(self) and row.webhook.enabled else []


class AttemptSerializer(serializers.Serializer[Attempt]):
    """Describe one request of a delivery."""

    at = serializers.DateTimeField()
    answer_status = serializers.IntegerField(
        source="status", allow_null=True, help_text="null: there was no answer."
    )
    response = serializers.CharField(help_text="The body answered; its first 4,000 characters.")
    failure = serializers.CharField(help_text="Why it does not count as taken; empty: it does.")
    seconds = serializers.FloatField(help_text="How long it took, s.")


class DeliveryDetailSerializer(DeliverySerializer):
    """Describe a delivery with its body and attempts."""

    body = serializers.CharField(help_text="A CloudEvent as JSON, the same at each attempt.")
    tries = AttemptSerializer(many=True, help_text="Newest first.")


class EventTypeSerializer(serializers.Serializer[dict[str, Any]]):
    """Describe the events of one kind of object."""

    kind = serializers.CharField()
    title = serializers.CharField()
    pattern = serializers.CharField(help_text="What stands for all events of this kind.")
    types = serializers.ListField(
        child=serializers.CharField(), help_text="Each type of event of this kind."
    )
    is_private = serializers.BooleanField(help_text="true: `*` leaves it out.")
