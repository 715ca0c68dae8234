"""Read and change policies."""

from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.domain.roles import Permission
from apps.accounts.models import User
from apps.common.api.filters import Ordering
from apps.common.api.forms import parameter
from apps.common.api.preconditions import etag, expected_version
from apps.plans.policies.api.serializers import PolicySerializer
from apps.plans.policies.models import Policy
from apps.plans.policies.selectors import policy_rows
from apps.plans.policies.services import policy_for, policy_update
from apps.systems.api.entities import IF_MATCH
from apps.systems.models import System


class PolicyViewSet(viewsets.GenericViewSet[Policy]):
    """One policy per system, and the installation's default, made when first asked for."""

    queryset = policy_rows()
    serializer_class = PolicySerializer
    filter_backends = [Ordering]
    query_parameters = ["system"]
    lookup_field = "public_id"
    lookup_url_kwarg = "id"
    lookup_value_converter = "uuid"
    ordering_fields = ["updated_at"]
    ordering = ["id"]
    needs = {"partial_update": Permission.ADMINISTER}

    def get_queryset(self) -> QuerySet[Policy]:
        return policy_rows()

    def _answer(self, policy: Policy) -> Response:
        return Response(self.get_serializer(policy).data, headers={"ETag": etag(policy.version)})

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "system", OpenApiTypes.UUID, description="The policy of this system alone."
            )
        ]
    )
    def list(self, request: Request) -> Response:
        """The default and the policies of systems; with `system` exactly that system's."""
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
        """One policy with its ETag."""
        return self._answer(self.get_object())

    @extend_schema(parameters=[IF_MATCH])
    def partial_update(self, request: Request, id: str) -> Response:
        """Change what is given; lists are replaced as a whole."""
        assert isinstance(request.user, User)
        version = expected_version(request)
        policy = self.get_object()
        form = self.get_serializer(policy, data=request.data, partial=True)
        form.is_valid(raise_exception=True)
        values = dict(form.validated_data)
        reason = values.pop("reason", "")
        return self._answer(
            policy_update(
                policy=policy,
                actor=request.user,
                expected_version=version,
                values=values,
                reason=reason,
            )
        )
