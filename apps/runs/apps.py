from django.apps import AppConfig


class RunsConfig(AppConfig):
    """Freeze snapshots and lead runs through their life, whatever they compute."""

    name = "apps.runs"

    def ready(self) -> None:
        from apps.runs import checks  # noqa: F401  (registers them)
