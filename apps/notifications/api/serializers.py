"""Shape what people and channels are told for the REST API."""

from datetime import datetime
from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.accounts.api.permissions import granted
from apps.accounts.domain.roles import Permission
from apps.common.api.fields import choices, command_list
from apps.common.api.forms import Form, ModelForm
from apps.inbox.api.serializers import ITEM_KINDS
from apps.integrations.api.serializers import CONNECTION_COMMANDS
from apps.notifications.models import (
    Channel,
    ChannelTestOutcome,
    Message,
    NotificationSettings,
    Shape,
)
from apps.policies.domain.windows import timezone_error
from apps.systems.api.entities import SystemReference

CHANNEL_SHAPES = choices(*Shape.values)
TEST_OUTCOMES = choices(*ChannelTestOutcome.values)


class ChoiceRules:
    """Rules for fields that people and channels have."""

    def validate_timezone(self, value: str) -> str:
        error = timezone_error(value)
        if error:
            raise serializers.ValidationError(error)
        return value

    def validate_kinds(self, value: list[str]) -> list[str]:
        return sorted(set(value))


class NotificationSettingsSerializer(ChoiceRules, ModelForm[NotificationSettings]):
    """Describe what the caller is told by e-mail, and when."""

    by_email = serializers.BooleanField()
    kinds = serializers.ListField(
        child=serializers.ChoiceField(choices=ITEM_KINDS),
        help_text="Of which items of the inbox; of those alone that the caller's roles are called "
        "to.",
    )
    timezone = serializers.CharField(
        max_length=64, help_text="Of the times below and of those in messages: Europe/Berlin."
    )
    digest_at = serializers.TimeField(
        allow_null=True, help_text="The time of one message a day. null: at once."
    )
    quiet_from = serializers.TimeField(
        allow_null=True, help_text="From then on nothing is sent; given with `quiet_until`."
    )
    quiet_until = serializers.TimeField(
        allow_null=True, help_text="Then what was held back is sent."
    )
    email = serializers.CharField(
        source="person.email", read_only=True, help_text="Where to; administrators change it."
    )
    email_works = serializers.SerializerMethodField(
        help_text="Whether this installation has a mail server."
    )
    last_sent_at = serializers.SerializerMethodField()
    problem = serializers.SerializerMethodField(
        help_text="Why the mail server did not take the last message; empty: it did."
    )

    class Meta:
        model = NotificationSettings
        fields = [
            *("by_email", "kinds", "timezone", "digest_at", "quiet_from", "quiet_until"),
            *("email", "email_works", "last_sent_at", "problem", "version"),
        ]
        read_only_fields = ["version"]

    def get_email_works(self, row: NotificationSettings) -> bool:
        return bool(settings.EMAIL_HOST)

    def get_last_sent_at(self, row: NotificationSettings) -> datetime | None:
        sent = Message.objects.filter(person=row.person, sent_at__isnull=False)
        return sent.order_by("-id").values_list("sent_at", flat=True).first()

    def get_problem(self, row: NotificationSettings) -> str:
        # What another address of theirs did not take says nothing about this one.
        tried = Message.objects.filter(
            person=row.person, address=row.person.email, attempts__gt=0
        ).order_by("-id")
        return tried.values_list("problem", flat=True).first() or ""


class ChannelSerializer(ChoiceRules, Form[Channel]):
    """Describe a channel of a chat, of what it is told and when."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    name = serializers.CharField(max_length=100)
    shape = serializers.ChoiceField(
        choices=CHANNEL_SHAPES, help_text="The chat, whose messages have this shape."
    )
    credential = serializers.CharField(
        max_length=300,
        help_text="Where the address of its incoming webhook is: `env:WEIR_CREDENTIAL_…` or "
        "`file:/…`. The address itself is never stored and never shown; only administrators see "
        "where it is.",
    )
    all_systems = serializers.BooleanField(
        required=False,
        help_text="true: items of all systems, and those of none; else those of `systems`.",
    )
    systems = SystemReference(many=True, required=False)
    system_names = serializers.SerializerMethodField(help_text="The same by name.")
    kinds = serializers.ListField(
        child=serializers.ChoiceField(choices=ITEM_KINDS),
        required=False,
        help_text="Of which items of the inbox, whoever is called to them.",
    )
    timezone = serializers.CharField(
        max_length=64,
        required=False,
        help_text="Of the times below and of those in messages: Europe/Berlin.",
    )
    digest_at = serializers.TimeField(
        allow_null=True, required=False, help_text="The time of one message a day. null: at once."
    )
    quiet_from = serializers.TimeField(
        allow_null=True,
        required=False,
        help_text="From then on nothing is sent; given with `quiet_until`.",
    )
    quiet_until = serializers.TimeField(
        allow_null=True, required=False, help_text="Then what was held back is sent."
    )
    enabled = serializers.BooleanField(
        required=False,
        help_text="false: nothing is sent. Once it is true again, what still stands is.",
    )
    waiting = serializers.IntegerField(
        read_only=True,
        help_text="Messages that wait to be sent, and items that are in none yet.",
    )
    missed = serializers.IntegerField(
        read_only=True,
        help_text="Messages that were given up, since one was taken that says how many. What was "
        "given up within a day comes anew after an edit of `credential`, `shape` or `enabled`, and "
        "is counted no more.",
    )
    missed_since = serializers.DateTimeField(
        read_only=True, allow_null=True, help_text="When the first of them was; null: none was."
    )
    last_sent_at = serializers.DateTimeField(
        read_only=True, allow_null=True, help_text="When it took a message last; null: never."
    )
    problem = serializers.CharField(
        read_only=True,
        help_text="Why the last message was not taken; empty: it was. Only administrators see more "
        "than that it was not.",
    )
    failing_since = serializers.DateTimeField(
        read_only=True, allow_null=True, help_text="Since when nothing was taken; null: it is."
    )
    retry_at = serializers.DateTimeField(
        read_only=True, allow_null=True, help_text="Until then it is left alone, but for tests."
    )
    test_outcome = serializers.ChoiceField(
        choices=TEST_OUTCOMES,
        read_only=True,
        help_text="What became of its last test, whatever came of other messages. After an edit of "
        "`credential`, `shape` or `enabled`: `none`, or of one that waits.",
    )
    test_asked_at = serializers.DateTimeField(
        read_only=True, allow_null=True, help_text="When its last test was asked for; null: none."
    )
    test_ended_at = serializers.DateTimeField(
        read_only=True,
        allow_null=True,
        help_text="When the chat took or refused that test; null: it waits, or there is none.",
    )
    test_problem = serializers.CharField(
        read_only=True,
        help_text="Why the test was not taken; empty: it was, or has not ended. Only "
        "administrators see more than that it was not.",
    )
    version = serializers.IntegerField(read_only=True)
    created_at = serializers.DateTimeField(read_only=True)
    updated_at = serializers.DateTimeField(read_only=True)
    allowed_commands = serializers.SerializerMethodField()
    reason = serializers.CharField(
        write_only=True, required=False, allow_blank=True, max_length=500
    )

    def to_representation(self, instance: Channel) -> Any:
        row = super().to_representation(instance)
        if not self._may_administer():
            row["credential"] = ""
            # Why it was not taken may say where the credential is.
            row["problem"] = row["problem"] and "It takes no messages; administrators see why."
            row["test_problem"] = row["test_problem"] and "Administrators see why."
        return row

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_system_names(self, row: Channel) -> list[str]:
        return [system.name for system in row.systems.all()]

    @extend_schema_field(command_list(CONNECTION_COMMANDS))
    def get_allowed_commands(self, row: Channel) -> list[str]:
        if not self._may_administer():
            return []
        return ["edit", "delete", *(["test"] if row.enabled else [])]

    def _may_administer(self) -> bool:
        request = self.context.get("request")
        return request is not None and Permission.ADMINISTER in granted(request)
