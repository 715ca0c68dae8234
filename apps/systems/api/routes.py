"""Addresses of systems in the API."""

from rest_framework.routers import BaseRouter

from apps.systems.api.views import SystemViewSet


def register(router: BaseRouter) -> None:
    router.register("systems", SystemViewSet)
