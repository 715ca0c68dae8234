"""Register the app of schedules and triggers."""

from django.apps import AppConfig


class RecomputationConfig(AppConfig):
    """Compute again automatically, by schedules and triggers."""

    name = "apps.recomputation"
