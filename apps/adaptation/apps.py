from django.apps import AppConfig


class AdaptationConfig(AppConfig):
    """Move parts of buckets by what brokers measure, while an approved order is in force."""

    name = "apps.adaptation"
    # A plan says whose stop it leaves.
    adapts_parts = "apps.adaptation.selectors.orders.order_in_force"
