"""Bodies and query parameters: what nobody asked for is refused by its name, not passed over.

A misspelt field would otherwise be answered with 200 and change nothing, a misspelt filter with
everything. What an answer holds may be sent back: read-only fields are known.
"""

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Generic, TypeVar

from django.db import models
from rest_framework import serializers
from rest_framework.request import Request

T = TypeVar("T")
M = TypeVar("M", bound=models.Model)
SHOWN = 60
MOST = 10
"""So many are named at once: to look for the likely name costs time."""


def refuse_unknown(given: Iterable[Any], known: Collection[str], kind: str) -> None:
    """Raise ValidationError that names what is none of the known names."""
    unknown = [str(name) for name in given if name not in known]
    if unknown:
        raise serializers.ValidationError(
            {name[:SHOWN]: [_sentence(name, known, kind)] for name in unknown[:MOST]}
        )


def _sentence(name: str, known: Collection[str], kind: str) -> str:
    close = get_close_matches(name[:SHOWN], known, n=1)
    return f"There is no such {kind}." + (f' Is "{close[0]}" meant?' if close else "")


class Form(serializers.Serializer[T], Generic[T]):
    """The base of every serializer that reads a body or the query of a request."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            refuse_unknown(data, self.fields, "field")
        return super().to_internal_value(data)


class ModelForm(Form[M], serializers.ModelSerializer[M], Generic[M]):
    """The same for what is read into the columns of a model."""


def parameter(request: Request, name: str, field: serializers.Field[Any, Any, Any, Any]) -> Any:
    """One query parameter as the field reads it; None where it is missing or empty.

    Raises ValidationError under the parameter's name.
    """
    given = request.query_params.get(name)
    if not given:
        return None
    try:
        return field.run_validation(given)
    except serializers.ValidationError as error:
        raise serializers.ValidationError({name: error.detail}) from error
