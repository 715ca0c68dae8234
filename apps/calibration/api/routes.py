"""Addresses of fits, of their settings and of what they correct now."""

from django.urls import path
from rest_framework.routers import BaseRouter

from apps.calibration.api.views import (
    CalibrationSettingsViewSet,
    CalibrationStateView,
    FitViewSet,
)


def register(router: BaseRouter) -> None:
    router.register("calibrations", FitViewSet, basename="calibration")
    router.register("calibration-settings", CalibrationSettingsViewSet)


paths = [path("calibration-state", CalibrationStateView.as_view())]
