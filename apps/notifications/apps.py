from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    """Send people what waits for them, at the times that they chose."""

    name = "apps.notifications"
