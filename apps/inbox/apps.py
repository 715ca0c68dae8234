from django.apps import AppConfig


class InboxConfig(AppConfig):
    """Show each person what waits for them, and what they should know."""

    name = "apps.inbox"
