"""Addresses of plans, and of what is in force against the model."""

from django.urls import path
from rest_framework.routers import BaseRouter

from apps.plans.api.checklist import ChecklistView
from apps.plans.api.model_state import ModelStateView
from apps.plans.api.views import PlanViewSet


def register(router: BaseRouter) -> None:
    router.register("plans", PlanViewSet)


paths = [
    path("model-state", ModelStateView.as_view()),
    path("systems/<uuid:id>/checklist", ChecklistView.as_view()),
]
