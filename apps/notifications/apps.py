from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    """Tell people and channels of chats what is new, at the times that were chosen."""

    name = "apps.notifications"

    calls_people = "apps.notifications.selectors.FAILING_CHANNELS"
