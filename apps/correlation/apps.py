from django.apps import AppConfig


class CorrelationConfig(AppConfig):
    """Suggest correlation keys by the times of messages, and give those that people accept."""

    name = "apps.correlation"
    computations = ("apps.correlation.services.computation.CORRELATION",)
