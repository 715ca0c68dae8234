"""Tell people what is new in their inbox."""

from apps.notifications.services.notices import notices_note, settings_of
from apps.notifications.services.send import messages_tidy, notices_send
from apps.notifications.services.settings import notification_settings_update

__all__ = [
    "messages_tidy",
    "notices_note",
    "notices_send",
    "notification_settings_update",
    "settings_of",
]
