"""Fields of requests that are stricter than Django REST framework's own, and times of answers."""

import math
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError as ModelError
from rest_framework import serializers

SHOWN = 60


class Amount(serializers.FloatField):
    """A finite number that is not negative: rates, costs, capacities, delays."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("min_value", 0)
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool):
            self.fail("invalid")
        value = super().to_internal_value(data)
        if not math.isfinite(value):
            raise serializers.ValidationError("A finite number is required.")
        return value


class PublicId(serializers.SlugRelatedField[Any]):
    """Another object by its public id; whatever else is sent is an error of this field."""

    where = ""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("slug_field", "public_id")
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> Any:
        try:
            return super().to_internal_value(data)
        except (serializers.ValidationError, ModelError, ValueError, TypeError):
            queryset = self.get_queryset()
            kind = "object" if queryset is None else queryset.model._meta.verbose_name
            raise serializers.ValidationError(
                f'There is no {kind} with the id "{str(data)[:SHOWN]}"{self.where}.'
            ) from None


def instant(at: datetime | None) -> str | None:
    """A time as every date field writes it, for answers that are made without fields."""
    return None if at is None else at.isoformat().replace("+00:00", "Z")
