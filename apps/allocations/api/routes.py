"""Addresses of allocations and of what computes them."""

from django.urls import path
from rest_framework.routers import BaseRouter

from apps.allocations.api.preview import PreviewView
from apps.allocations.api.views import (
    AllocationViewSet,
    LoadViewSet,
    OptimizersView,
    PopulationViewSet,
    RateViewSet,
)


def register(router: BaseRouter) -> None:
    one = "allocations/<uuid:allocation_id>"
    router.register("allocations", AllocationViewSet)
    router.register(f"{one}/rates", RateViewSet, basename="allocation-rate")
    router.register(f"{one}/populations", PopulationViewSet, basename="allocation-population")
    router.register(f"{one}/loads", LoadViewSet, basename="allocation-load")


paths = [
    path("optimizers", OptimizersView.as_view()),
    path("systems/<uuid:id>/preview", PreviewView.as_view()),
]
