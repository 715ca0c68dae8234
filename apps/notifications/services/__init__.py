"""Tell people and channels of chats what is new in the inbox."""

from apps.notifications.services.channel_tests import channel_test
from apps.notifications.services.channels import (
    channel_create,
    channel_delete,
    channel_update,
)
from apps.notifications.services.chat import chats_post
from apps.notifications.services.mail import notices_send
from apps.notifications.services.messages import messages_tidy
from apps.notifications.services.notices import notices_note
from apps.notifications.services.recipients import settings_of
from apps.notifications.services.settings import notification_settings_update

__all__ = [
    "channel_create",
    "channel_delete",
    "channel_test",
    "channel_update",
    "chats_post",
    "messages_tidy",
    "notices_note",
    "notices_send",
    "notification_settings_update",
    "settings_of",
]
