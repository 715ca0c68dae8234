"""Read the body of the command that sets a system's retention."""

from typing import Any

from rest_framework import serializers

from apps.common.api.forms import Form
from apps.systems.models import LEAST_RETENTION_S, MOST_RETENTION_S


class RetentionSerializer(Form[dict[str, Any]]):
    """Read how long brokers keep delivered reliable messages."""

    retention_s = serializers.IntegerField(
        min_value=LEAST_RETENTION_S, max_value=MOST_RETENTION_S, help_text="In seconds."
    )
    confirm = serializers.BooleanField(
        default=False, help_text="Needed for what is shorter than the present retention."
    )
    reason = serializers.CharField(required=False, allow_blank=True, max_length=500, default="")
