"""Describe in the schema why runs found nothing feasible, in the words of each kind."""

from typing import Any

from django.utils.module_loading import import_string
from drf_spectacular.utils import PolymorphicProxySerializer

from apps.runs.selectors import computations


def explanation_schema() -> Any:
    """Return the serializer of the one kind that explains itself, or one that is any of theirs."""
    paths = [one.explained_as for one in computations().values() if one.explained_as]
    serializers = [import_string(path) for path in paths]
    if len(serializers) == 1:
        return serializers[0](allow_null=True)
    return PolymorphicProxySerializer(
        component_name="InfeasibilityOfRun",
        serializers=serializers,
        resource_type_field_name=None,
        allow_null=True,
    )
