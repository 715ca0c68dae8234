"""Provide the ASGI entry: `granian --interface asgi config.asgi:application`."""

import os

from django.core.asgi import get_asgi_application

from config.request_guard import RequestGuard
from config.request_threads import RequestThreads

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
application = RequestGuard(
    RequestThreads(
        get_asgi_application(), threads=16, besides=["/api/v1/events", "/api/v1/event-stream"]
    ),
    direct="/agent/v1/",
)
