"""Addresses of executions, and those that agents ask."""

from django.urls import path
from rest_framework.routers import BaseRouter

from apps.executions.api import agents
from apps.executions.api.restored import AdoptRestoredView, RestoredView
from apps.executions.api.views import ExecutionViewSet


def register(router: BaseRouter) -> None:
    router.register("executions", ExecutionViewSet)


paths = [
    path("systems/<uuid:id>/restored", RestoredView.as_view()),
    path("systems/<uuid:id>/adopt-restored", AdoptRestoredView.as_view()),
]
root_paths = [
    path("agent/v1/session", agents.session),
    path("agent/v1/document", agents.document),
    path("agent/v1/report", agents.report),
]
