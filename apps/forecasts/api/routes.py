"""Addresses of forecasts of demand."""

from rest_framework.routers import BaseRouter

from apps.forecasts.api.views import ForecastViewSet


def register(router: BaseRouter) -> None:
    router.register("demand-forecasts", ForecastViewSet, basename="demand-forecast")
