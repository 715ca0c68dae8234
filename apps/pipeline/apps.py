from django.apps import AppConfig


class PipelineConfig(AppConfig):
    """Sum records up by minute, and compute facts of them."""

    name = "apps.pipeline"

    def ready(self) -> None:
        from apps.calibration.selectors import offer_minute_sums
        from apps.pipeline.selectors.observations import observations

        offer_minute_sums(observations)
