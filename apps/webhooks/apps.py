from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    """Send what happens in Weir to other systems, signed, until they have taken it."""

    name = "apps.webhooks"
