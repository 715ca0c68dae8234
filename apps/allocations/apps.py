from django.apps import AppConfig


class AllocationsConfig(AppConfig):
    """Optimize rates and admitted consumers: ask for a run, keep its result, compare results."""

    name = "apps.allocations"
    computations = ("apps.allocations.services.computation.ALLOCATION",)
