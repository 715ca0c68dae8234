"""Forecast demand by the time of day and week, with an interval."""

from weir.forecasting.document import FORMAT, answer_of, forecast_plain, question_checked
from weir.forecasting.seasonal import DAY, WEEK, Forecast, NoForecast, forecast

__all__ = [
    "DAY",
    "FORMAT",
    "WEEK",
    "Forecast",
    "NoForecast",
    "answer_of",
    "forecast",
    "forecast_plain",
    "question_checked",
]
