"""Shape what a person is told for the REST API."""

from datetime import datetime

from django.conf import settings
from rest_framework import serializers

from apps.common.api.forms import ModelForm
from apps.inbox.api.serializers import ITEM_KINDS
from apps.notifications.models import Message, NotificationSettings
from apps.policies.domain.windows import timezone_error


class NotificationSettingsSerializer(ModelForm[NotificationSettings]):
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

    def validate_timezone(self, value: str) -> str:
        error = timezone_error(value)
        if error:
            raise serializers.ValidationError(error)
        return value

    def validate_kinds(self, value: list[str]) -> list[str]:
        return sorted(set(value))

    def get_email_works(self, row: NotificationSettings) -> bool:
        return bool(settings.EMAIL_HOST)

    def get_last_sent_at(self, row: NotificationSettings) -> datetime | None:
        sent = Message.objects.filter(person=row.person, sent_at__isnull=False)
        return sent.order_by("-id").values_list("sent_at", flat=True).first()

    def get_problem(self, row: NotificationSettings) -> str:
        tried = Message.objects.filter(person=row.person, attempts__gt=0).order_by("-id")
        return tried.values_list("problem", flat=True).first() or ""
