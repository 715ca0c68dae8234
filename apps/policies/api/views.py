"""Serve policies over the REST API."""

from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.domain.roles import Permission
from apps.common.api.forms import parameter
from apps.policies.api.serializers import PolicySerializer
from apps.policies.models import Policy
from apps.policies.selectors import policy_rows
from apps.policies.services import policy_for, policy_update
from apps.systems.api.entities import IF_MATCH
from apps.systems.api.settings import SettingsViewSet
from apps.systems.models import System


class PolicyViewSet(SettingsViewSet[Policy]):
    """Manage one policy per system, and the installation's default, made when first asked for."""

    queryset = policy_rows()
    serializer_class = PolicySerializer
    needs = {"partial_update": Permission.ADMINISTER}

    def get_queryset(self) -> QuerySet[Policy]:
        return policy_rows()

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "system", OpenApiTypes.UUID, description="The policy of this system alone."
            )
        ]
    )
    def list(self, request: Request) -> Response:
        """List the default and the policies of systems; with `system` exactly that system's."""
        policies = self.filter_queryset(self.get_queryset())
        system_id = parameter(request, "system", serializers.UUIDField())
        if system_id:
            policy = policy_for(get_object_or_404(System, public_id=system_id))
            policies = policies.filter(pk=policy.pk)
        else:
            policy_for(None)
        page: Any = self.paginate_queryset(policies)
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    def retrieve(self, request: Request, id: str) -> Response:
        """Return one policy with its ETag."""
        return self.answer(self.get_object())

    @extend_schema(parameters=[IF_MATCH])
    def partial_update(self, request: Request, id: str) -> Response:
        """Change the given members; lists are replaced as a whole."""
        return self.edit(request, lambda row, **change: policy_update(policy=row, **change))
