"""Define the base classes of Weir's tables: integer keys inside, UUIDs outside."""

import uuid
from datetime import timedelta
from typing import Any

from django.db import models


class BaseModel(models.Model):
    """Give a row a public id and its times."""

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True, editable=False)
    updated_at = models.DateTimeField(auto_now=True, editable=False)

    class Meta:
        abstract = True


IDEMPOTENCY_KEYS_KEPT = timedelta(days=7)
"""How long the answer to a request with a key is remembered."""


class IdempotencyKey(models.Model):
    """The answer to a POST, so that a repeated request gets the same."""

    owner = models.CharField(max_length=64)
    key = models.CharField(max_length=200)
    request_hash = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True)
    body: "models.JSONField[Any, Any]" = models.JSONField(null=True)
    location = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "key"], name="idempotency_key_once_per_owner")
        ]

    def __str__(self) -> str:
        return self.key
