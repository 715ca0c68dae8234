"""Addresses of policies in the API."""

from rest_framework.routers import BaseRouter

from apps.policies.api.views import AutomaticStopViewSet, PolicyViewSet


def register(router: BaseRouter) -> None:
    router.register("policies", PolicyViewSet)
    router.register("automatic-stops", AutomaticStopViewSet)
