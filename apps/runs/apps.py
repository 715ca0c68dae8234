from django.apps import AppConfig


class RunsConfig(AppConfig):
    """Manage snapshots and the life of runs, whatever they compute; gateway.py is the only access
    to Spark."""

    name = "apps.runs"
