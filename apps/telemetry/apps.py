from django.apps import AppConfig


class TelemetryConfig(AppConfig):
    """Manage agents and what they report: credentials, leases, observed state, measured rates."""

    name = "apps.telemetry"
