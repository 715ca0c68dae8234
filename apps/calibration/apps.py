from django.apps import AppConfig


class CalibrationConfig(AppConfig):
    """Calibrate resource models: fitted from telemetry, corrected while running, bounded by
    latency."""

    name = "apps.calibration"
    computations = ("apps.calibration.services.computation.FIT",)
