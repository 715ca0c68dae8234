"""ASGI entry: `granian --interface asgi config.asgi:application`."""

import os

from django.core.asgi import get_asgi_application

from config.door import Door

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
application = Door(get_asgi_application(), prefix="/agent/v1/")
