from django.apps import AppConfig


class PipelineConfig(AppConfig):
    """Sum records up by minute, and compute facts of them."""

    name = "apps.pipeline"

    def ready(self) -> None:
        from apps.calibration.selectors import offer_minute_sums
        from apps.demand.selectors.measured import offer_demand_minutes
        from apps.pipeline.selectors.objectives import DelayObjectives
        from apps.pipeline.selectors.observations import observations
        from apps.pipeline.selectors.wanted import demand_minutes
        from apps.plans.selectors.parts import offer_objectives

        offer_minute_sums(observations)
        offer_demand_minutes(demand_minutes)
        offer_objectives(DelayObjectives())
