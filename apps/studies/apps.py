from django.apps import AppConfig


class StudiesConfig(AppConfig):
    """What-if: ask for a study, show its answers as they come, keep them."""

    name = "apps.studies"
