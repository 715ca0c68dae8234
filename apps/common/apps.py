from django.apps import AppConfig


class CommonConfig(AppConfig):
    """What every app stands on: base model, errors, pagination, tasks by name, live events."""

    name = "apps.common"
