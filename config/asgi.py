"""ASGI entry: `granian --interface asgi config.asgi:application`."""

import os

from django.core.asgi import get_asgi_application
from django.core.signals import request_finished

from config.door import Door

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
application = Door(get_asgi_application(), direct="/agent/v1/")


def _release(**_: object) -> None:
    # Imported late: models need the settings that were just loaded.
    from apps.common.connections import connections_release

    connections_release()


request_finished.connect(_release)
