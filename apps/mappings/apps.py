from django.apps import AppConfig


class MappingsConfig(AppConfig):
    """Map flows to streams and streams to groups."""

    name = "apps.mappings"

    computations = ("apps.mappings.services.computation.MAPPING",)

    def ready(self) -> None:
        from apps.mappings.selectors.measured import FilteringCosts
        from apps.plans.selectors.parts import offer_filtering

        offer_filtering(FilteringCosts())
