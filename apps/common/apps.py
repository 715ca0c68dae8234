from django.apps import AppConfig


class CommonConfig(AppConfig):
    """Provide what every app needs: base model, errors, pagination, tasks by name, live events."""

    name = "apps.common"

    def ready(self) -> None:
        from apps.common import checks  # noqa: F401  (registers them)
