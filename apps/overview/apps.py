from django.apps import AppConfig


class OverviewConfig(AppConfig):
    """Show every system at a glance: what is measured, in force and proposed. This app only
    reads."""

    name = "apps.overview"
