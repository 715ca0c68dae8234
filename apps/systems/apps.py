from django.apps import AppConfig


class SystemsConfig(AppConfig):
    """Managed messaging systems and the one way to edit what belongs to them."""

    name = "apps.systems"
