"""Addresses of studies, and the one to which jobs post points."""

from django.urls import path
from rest_framework.routers import BaseRouter

from apps.studies.api.job_points import report_points
from apps.studies.api.views import StudyPointViewSet, StudyViewSet


def register(router: BaseRouter) -> None:
    router.register("studies", StudyViewSet)
    router.register("studies/<uuid:study_id>/points", StudyPointViewSet, basename="study-point")


root_paths = [path("internal/studies/points", report_points)]
