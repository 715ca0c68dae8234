"""Define request fields that are stricter than Django REST framework's own, and times in
answers."""

import math
import re
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError as ModelError
from drf_spectacular.extensions import OpenApiSerializerFieldExtension
from rest_framework import serializers

SHOWN = 60
LARGEST_EXACT = 2**53
"""Up to here a number of 64 bits holds every whole one."""
TIME_OF_DAY = r"^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]{1,6})?)?$"
WHOLE = re.compile(r"[+-]?[0-9]{1,400}")


class Number(serializers.FloatField):
    """Accept a finite number and keep it: one that would be rounded is refused. A text that holds a
    number is one: tables and addresses have no other."""

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool):
            self.fail("invalid")
        try:
            value = super().to_internal_value(data)
        except OverflowError:
            raise serializers.ValidationError("A finite number is required.") from None
        if not math.isfinite(value):
            raise serializers.ValidationError("A finite number is required.")
        if _loses_digits(data, value):
            raise serializers.ValidationError(
                f"Has more digits than a number of 64 bits keeps; the nearest one is {value:.17g}."
            )
        return value


def _loses_digits(given: Any, value: float) -> bool:
    """Return whether a whole number was rounded. Fractions are: few have a finite form."""
    if abs(value) < LARGEST_EXACT:
        return False
    if isinstance(given, str):
        given = int(given) if WHOLE.fullmatch(given.strip()) else value
    # Programs write the shortest digits that read as the same number, with zeros after them.
    return bool(given != int(value) and Decimal(repr(value)) != given)


class Amount(Number):
    """Accept a number that is not negative: a rate, cost, capacity or delay."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("min_value", 0)
        super().__init__(**kwargs)


class PublicId(serializers.SlugRelatedField[Any]):
    """Accept another object's public id; anything else is an error of this field."""

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


Choices = list[tuple[str, str]]


def choices(*names: str) -> Choices:
    """Return names as the choices of a field; what each means stands in `config.api_meanings`,
    or in `api/documentation.py` of the app."""
    return [(name, name) for name in names]


def command_list(names: Choices) -> Any:
    """Return the field of commands that the caller may give now, for the schema."""
    return serializers.ListField(child=serializers.ChoiceField(choices=names), read_only=True)


EDIT_ONLY = choices("edit")
"""The commands of what is neither made nor deleted."""


def instant(at: datetime | None) -> str | None:
    """Return a time as date fields write it, for answers that are made without fields."""
    return None if at is None else at.isoformat().replace("+00:00", "Z")


class TimeOfDay(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    """Describe times of day, whose zone stands beside them: `format: time` of JSON Schema would
    have an offset in each."""

    target_class = "rest_framework.fields.TimeField"
    match_subclasses = True

    def map_serializer_field(self, auto_schema: Any, direction: str) -> dict[str, str]:
        """Return the schema of a time such as 07:30:00."""
        return {"type": "string", "pattern": TIME_OF_DAY}
