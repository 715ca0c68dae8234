from django.apps import AppConfig


class DemoConfig(AppConfig):
    """Hold the systems of the demo, one per file: whatever the demo should show is added here."""

    name = "apps.demo"
