from django.apps import AppConfig


class ForecastsConfig(AppConfig):
    """Forecast what publishers and consumers will want, by the time of day and week."""

    name = "apps.forecasts"
    computations = ("apps.forecasts.services.computation.FORECAST",)

    def ready(self) -> None:
        from apps.demand.selectors.measured import offer_forecast
        from apps.forecasts.selectors import expected_demand

        offer_forecast(expected_demand)
