from django.apps import AppConfig


class TelemetryConfig(AppConfig):
    """What agents are and report: credentials, leases, observed state, measured rates."""

    name = "apps.telemetry"
