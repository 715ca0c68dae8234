from django.apps import AppConfig


class SystemsConfig(AppConfig):
    """Manage messaging systems and all edits of what belongs to them."""

    name = "apps.systems"
