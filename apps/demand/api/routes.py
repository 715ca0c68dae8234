"""Addresses of demand, of its estimates and of how they are used."""

from django.urls import path
from rest_framework.routers import BaseRouter

from apps.demand.api.views import DemandEstimateViewSet, DemandSettingsViewSet, DemandView


def register(router: BaseRouter) -> None:
    router.register("demand-estimates", DemandEstimateViewSet)
    router.register("demand-settings", DemandSettingsViewSet)


paths = [path("demand", DemandView.as_view())]
