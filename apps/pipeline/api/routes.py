"""Addresses of how objectives held."""

from rest_framework.routers import BaseRouter

from apps.pipeline.api.objectives import SloComplianceViewSet


def register(router: BaseRouter) -> None:
    router.register("slo-compliance", SloComplianceViewSet, basename="slo-compliance")
