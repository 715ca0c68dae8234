from django.apps import AppConfig


class RateControlConfig(AppConfig):
    """Move rates between two allocations, within a band that a policy allows, and show them."""

    name = "apps.rate_control"
