from django.apps import AppConfig


class DemoConfig(AppConfig):
    """The systems of the demo, a file each: what every proposer shows there is added here."""

    name = "apps.demo"
