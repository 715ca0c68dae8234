"""Addresses of overlay evaluations, of their tools and of repairs."""

from django.urls import path
from rest_framework.routers import BaseRouter

from apps.evaluations.api.repairs import RepairsView
from apps.evaluations.api.tools import (
    MethodsView,
    PlannersView,
    SystemTrafficView,
    TransformationView,
)
from apps.evaluations.api.views import CandidateViewSet, EvaluationViewSet


def register(router: BaseRouter) -> None:
    router.register("overlay-evaluations", EvaluationViewSet)
    router.register("overlay-candidates", CandidateViewSet)


paths = [
    path("systems/<uuid:id>/traffic", SystemTrafficView.as_view()),
    path("overlay-transformations", TransformationView.as_view()),
    path("repairs", RepairsView.as_view()),
    path("topology-planners", PlannersView.as_view()),
    path("topology-methods", MethodsView.as_view()),
]
