"""Reject unknown fields and query parameters by name instead of ignoring them.

Otherwise a misspelt field would be answered with 200 and change nothing, and a misspelt filter with
every row. A caller may send an answer back: read-only fields are known.
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
"""The number of unknown names that an error lists: finding the likely name costs time."""


def refuse_unknown(given: Iterable[Any], known: Collection[str], kind: str) -> None:
    """Raise ValidationError that lists the names that are not known."""
    unknown = [str(name) for name in given if name not in known]
    if unknown:
        raise serializers.ValidationError(
            {name[:SHOWN]: [no_such(name, known, kind)] for name in unknown[:MOST]}
        )


def no_such(name: str, known: Collection[str], kind: str) -> str:
    """Return the sentence that refuses a name, with the known one that it may mean."""
    close = get_close_matches(name[:SHOWN], known, n=1)
    return f"There is no such {kind}." + (f' Is "{close[0]}" meant?' if close else "")


class Form(serializers.Serializer[T], Generic[T]):
    """Read a body or the query of a request, rejecting unknown names; base of every such
    serializer."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            refuse_unknown(data, self.fields, "field")
        return super().to_internal_value(data)


class ModelForm(Form[M], serializers.ModelSerializer[M], Generic[M]):
    """Read a body into the columns of a model, rejecting unknown names."""


def changes(form: serializers.BaseSerializer[Any]) -> tuple[dict[str, Any], str]:
    """Return what a valid body changes, and why. Raises ValidationError."""
    form.is_valid(raise_exception=True)
    values = dict(form.validated_data)
    return values, values.pop("reason", "")


def parameter(request: Request, name: str, field: serializers.Field[Any, Any, Any, Any]) -> Any:
    """Return one query parameter as the field reads it; None where it is missing or empty.

    Raises ValidationError under the parameter's name.
    """
    given = request.query_params.get(name)
    if not given:
        return None
    try:
        return field.run_validation(given)
    except serializers.ValidationError as error:
        raise serializers.ValidationError({name: error.detail}) from error
