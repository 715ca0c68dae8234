"""Addresses of schedules, triggers, firings and what Weir carries out by itself."""

from django.urls import path
from rest_framework.routers import BaseRouter

from apps.recomputation.api.views import (
    AutomaticDecisionViewSet,
    AutomationView,
    FiringViewSet,
    SchedulePreviewView,
    ScheduleViewSet,
    TriggerViewSet,
)


def register(router: BaseRouter) -> None:
    router.register("recomputation/schedules", ScheduleViewSet)
    router.register("recomputation/triggers", TriggerViewSet)
    router.register("recomputation/firings", FiringViewSet)
    router.register("recomputation/decisions", AutomaticDecisionViewSet)


paths = [
    path("recomputation/preview", SchedulePreviewView.as_view()),
    path("recomputation/automation", AutomationView.as_view()),
]
