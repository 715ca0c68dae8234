"""Addresses of systems in the API."""

from django.urls import path
from rest_framework.routers import BaseRouter

from apps.systems.api.views import SystemViewSet
from apps.systems.api.whole_model import SystemModelView


def register(router: BaseRouter) -> None:
    router.register("systems", SystemViewSet)


paths = [path("systems/<uuid:id>/model", SystemModelView.as_view())]
