"""Addresses of placements, and of the methods that find them."""

from django.urls import path
from rest_framework.routers import BaseRouter

from apps.placements.api.views import MoveViewSet, PlacementMethodsView, PlacementViewSet


def register(router: BaseRouter) -> None:
    router.register("placements", PlacementViewSet)
    router.register("placements/<uuid:placement_id>/moves", MoveViewSet, basename="placement-move")


paths = [path("placement-methods", PlacementMethodsView.as_view())]
