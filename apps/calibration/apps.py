from django.apps import AppConfig


class CalibrationConfig(AppConfig):
    """Resource models: fitted from telemetry, corrected while running, bounded by latency."""

    name = "apps.calibration"
