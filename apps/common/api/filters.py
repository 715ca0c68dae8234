"""Filters, search and ordering, the same on every list."""

from typing import Any, ClassVar

import django_filters
from django import forms
from django.db import models
from django_filters import rest_framework
from rest_framework.filters import OrderingFilter, SearchFilter
from rest_framework.views import APIView


class _TrueOrFalseField(forms.NullBooleanField):
    widget = forms.TextInput

    def to_python(self, value: Any) -> Any:
        if value in self.empty_values:
            return None
        found = {"true": True, "false": False}.get(str(value).lower())
        if found is None:
            raise forms.ValidationError("Must be true or false.", code="invalid")
        return found


class TrueOrFalse(django_filters.BooleanFilter):
    """`true` or `false`. The framework's own answers any other value with every row."""

    field_class = _TrueOrFalseField


class FilterSet(rest_framework.FilterSet):
    """The base of every list's filters."""

    FILTER_DEFAULTS: ClassVar[dict[Any, Any]] = {
        **rest_framework.FilterSet.FILTER_DEFAULTS,
        models.BooleanField: {"filter_class": TrueOrFalse},
    }


class NameSearch(SearchFilter):
    """`?search=` over the view's `search_fields`; every word must match."""

    search_description = "Words that must all appear in the name or description."


class Ordering(OrderingFilter):
    """`?ordering=` by one of the view's `ordering_fields`, `-` for descending."""

    def get_schema_operation_parameters(self, view: APIView) -> list[dict[str, Any]]:
        """Which fields order this list; the framework names none."""
        parameters: list[dict[str, Any]] = super().get_schema_operation_parameters(view)
        names = ", ".join(f"`{name}`" for name in getattr(view, "ordering_fields", ()))
        for parameter in parameters:
            parameter["description"] = (
                f"{names}; `-` before it for descending. Any other is passed over."
            )
        return parameters
