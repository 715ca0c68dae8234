from django.apps import AppConfig


class AllocationsConfig(AppConfig):
    """Rates and admitted consumers: ask for a run, keep its result, compare."""

    name = "apps.allocations"
