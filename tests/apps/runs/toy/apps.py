"""The application; a test registers its kind, so that the published API does not know it."""

from django.apps import AppConfig


class ToyConfig(AppConfig):
    """Counts the words of a text."""

    name = "tests.apps.runs.toy"
    label = "toy"
