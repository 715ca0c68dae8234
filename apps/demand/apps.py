from django.apps import AppConfig


class DemandConfig(AppConfig):
    """Estimate what publishers and consumers want, from what was measured of them."""

    name = "apps.demand"
