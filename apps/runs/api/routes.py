"""Addresses of runs, of live events, and the one to which jobs report progress."""

from django.urls import path
from rest_framework.routers import BaseRouter

from apps.runs.api.computations import ComputationsView
from apps.runs.api.events import events
from apps.runs.api.processes import ProcessesView
from apps.runs.api.views import RunViewSet, report_progress


def register(router: BaseRouter) -> None:
    router.register("runs", RunViewSet)


paths = [
    path("computations", ComputationsView.as_view()),
    path("processes", ProcessesView.as_view()),
]
root_paths = [
    path("api/v1/events", events),
    path("internal/runs/progress", report_progress),
]
