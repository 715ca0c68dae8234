"""The application."""

from django.apps import AppConfig


class RecomputationConfig(AppConfig):
    """Schedules and triggers of recomputation."""

    name = "apps.recomputation"
