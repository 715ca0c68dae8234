"""Addresses of schedules, triggers and firings."""

from django.urls import path
from rest_framework.routers import BaseRouter

from apps.recomputation.api.views import (
    FiringViewSet,
    SchedulePreviewView,
    ScheduleViewSet,
    TriggerViewSet,
)


def register(router: BaseRouter) -> None:
    router.register("recomputation/schedules", ScheduleViewSet)
    router.register("recomputation/triggers", TriggerViewSet)
    router.register("recomputation/firings", FiringViewSet)


paths = [path("recomputation/preview", SchedulePreviewView.as_view())]
