"""Addresses of agents and of what they measure."""

from django.urls import path
from rest_framework.routers import BaseRouter

from apps.telemetry.api.views import (
    AgentViewSet,
    LossesView,
    TelemetryLevelsView,
    TelemetrySeriesView,
    TelemetryView,
)


def register(router: BaseRouter) -> None:
    router.register("agents", AgentViewSet)


paths = [
    path("telemetry", TelemetryView.as_view()),
    path("telemetry/series", TelemetrySeriesView.as_view()),
    path("telemetry/levels", TelemetryLevelsView.as_view()),
    path("telemetry/losses", LossesView.as_view()),
]
