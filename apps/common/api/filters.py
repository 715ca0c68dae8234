"""Provide filters, search and ordering that work the same on every list."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar

import django_filters
from django import forms
from django.db import models
from django.db.models import Q, QuerySet
from django_filters import rest_framework
from rest_framework import serializers
from rest_framework.filters import BaseFilterBackend, OrderingFilter, SearchFilter
from rest_framework.request import Request
from rest_framework.views import APIView

from apps.common.api.forms import MOST, no_such, parameter

SINCE = "Changed at this time or later; see `updated_at`."


class _TrueOrFalseField(forms.NullBooleanField):
    widget = forms.TextInput

    def to_python(self, value: Any) -> Any:
        if value in self.empty_values:
            return None
        parsed = {"true": True, "false": False}.get(str(value).lower())
        if parsed is None:
            raise forms.ValidationError("Must be true or false.", code="invalid")
        return parsed


class TrueOrFalse(django_filters.BooleanFilter):
    """Accept `true` or `false`. The framework's own filter answers any other value with every
    row."""

    field_class = _TrueOrFalseField


class FilterSet(rest_framework.FilterSet):
    """Reject unknown parameters on every list."""

    FILTER_DEFAULTS: ClassVar[dict[Any, Any]] = {
        **rest_framework.FilterSet.FILTER_DEFAULTS,
        models.BooleanField: {"filter_class": TrueOrFalse},
    }


class Moment(rest_framework.IsoDateTimeFilter):
    """Accept one end of a time range. Python takes offsets that Postgres does not, so it gets
    UTC."""

    def __init__(self, field_name: str, name: str) -> None:
        first = name != "until"
        super().__init__(
            field_name=field_name,
            lookup_expr="gte" if first else "lt",
            label="At this time or later." if first else "Before this time.",
        )
        self.name = name

    def filter(self, qs: QuerySet[Any], value: datetime | None) -> QuerySet[Any]:
        """Return the rows at or after this time, or before it for `until`."""
        return super().filter(qs, None if value is None else self.in_utc(value))

    def in_utc(self, value: datetime) -> datetime:
        """Return the moment in UTC. Raises ValidationError where it is in no year there."""
        try:
            return value.astimezone(UTC)
        except OverflowError as error:
            raise serializers.ValidationError({self.name: "Lies outside the calendar."}) from error


class ChangedSince(Moment):
    """Narrow a list to rows whose answer was changed at this time or later; the paths lead to the
    times of all that an answer shows."""

    def __init__(self, *paths: str) -> None:
        super().__init__(paths[0], "updated_since")
        self.paths = paths
        self.label = SINCE

    def filter(self, qs: QuerySet[Any], value: datetime | None) -> QuerySet[Any]:
        """Return the rows of which one of the times is not before this one."""
        return qs if value is None else qs.filter(self.condition(self.in_utc(value)))

    def condition(self, moment: datetime) -> Q:
        """Return what holds of the rows that were changed since."""
        changed = Q()
        for path in self.paths:
            changed |= Q(**{f"{path}__gte": moment})
        return changed


class _RepeatedField(forms.Field):
    widget = forms.MultipleHiddenInput

    def clean(self, value: Any) -> list[str]:
        return [text for text in value or () if text]


class Repeated(django_filters.Filter):
    """Accept a parameter as often as it is given."""

    field_class = _RepeatedField


def since(field_name: str) -> Moment:
    """Return the filter `since` of a list."""
    return Moment(field_name, "since")


def until(field_name: str) -> Moment:
    """Return the filter `until` of a list."""
    return Moment(field_name, "until")


class CreatedFilter(FilterSet):
    """Narrow a list to what was made in a time; base of the filters of rows that say when they
    were."""

    since = since("created_at")
    until = until("created_at")


class ChangedFilter(CreatedFilter):
    """Narrow a list to what was made in a time, or changed since a time."""

    updated_since = ChangedSince("updated_at")


class UpdatedSince(BaseFilterBackend):
    """Narrow a list that has no other filter to what was changed since a time."""

    NAME = "updated_since"

    def filter_queryset(
        self, request: Request, queryset: QuerySet[Any], view: APIView
    ) -> QuerySet[Any]:
        """Return the rows that were changed at the time that the request names, or later."""
        since = self.moment(request)
        return queryset if since is None else queryset.filter(updated_at__gte=since)

    def moment(self, request: Request) -> datetime | None:
        """Return the time that the request names; None where it names none."""
        field = serializers.DateTimeField(default_timezone=UTC)
        moment: datetime | None = parameter(request, self.NAME, field)
        return moment

    def get_schema_operation_parameters(self, view: APIView) -> list[dict[str, Any]]:
        """Describe the one parameter of this filter."""
        schema = {"type": "string", "format": "date-time"}
        return [
            {
                "name": self.NAME,
                "in": "query",
                "required": False,
                "description": SINCE,
                "schema": schema,
            }
        ]


class Person(rest_framework.CharFilter):
    """Find people whose sign-in name or full name holds these words; `of` leads from a row to the
    person."""

    def __init__(self, of: str) -> None:
        super().__init__(label="Part of the name of a person.")
        self.of = of

    def filter(self, qs: QuerySet[Any], value: str) -> QuerySet[Any]:
        """Return the rows of these people; every word must be in a name."""
        for word in value.split() if value else ():
            names = ("username", "first_name", "last_name")
            some = Q()
            for name in names:
                some |= Q(**{f"{self.of}__{name}__icontains": word})
            qs = qs.filter(some)
        return qs


class NameSearch(SearchFilter):
    """Search the view's `search_fields` with `?search=`; every word must match."""

    def get_schema_operation_parameters(self, view: APIView) -> list[dict[str, Any]]:
        """Describe in which fields this list searches."""
        parameters: list[dict[str, Any]] = super().get_schema_operation_parameters(view)
        fields = ", ".join(
            f"`{name.lstrip('^=@$').replace('__', '.')}`"
            for name in getattr(view, "search_fields", ())
        )
        for one in parameters:
            one["description"] = f"Words; each must appear in one of {fields}."
        return parameters


class Ordering(OrderingFilter):
    """Order a list with `?ordering=` by the view's `ordering_fields`; `-` means descending."""

    def remove_invalid_fields(
        self, queryset: QuerySet[Any], fields: Iterable[str], view: APIView, request: Request
    ) -> Any:
        """Return the terms of the order. Raises ValidationError where one is not the view's."""
        terms = list(fields)
        known: Sequence[str] = getattr(view, "ordering_fields", None) or ()
        unknown = [name for term in terms if (name := term.removeprefix("-")) not in known]
        if unknown:
            messages = [no_such(name, known, "field to order by") for name in unknown[:MOST]]
            raise serializers.ValidationError({self.ordering_param: messages})
        return terms

    def get_schema_operation_parameters(self, view: APIView) -> list[dict[str, Any]]:
        """Describe which fields order this list; the framework names none."""
        parameters: list[dict[str, Any]] = super().get_schema_operation_parameters(view)
        names = ", ".join(f"`{name}`" for name in getattr(view, "ordering_fields", ()))
        for one in parameters:
            one["description"] = (
                f"{names}; `-` before it for descending, commas between several. "
                "Anything else is refused."
            )
        return parameters
