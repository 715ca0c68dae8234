"""Addresses of policies in the API."""

from rest_framework.routers import BaseRouter

from apps.policies.api.views import PolicyViewSet


def register(router: BaseRouter) -> None:
    router.register("policies", PolicyViewSet)
