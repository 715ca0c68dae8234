from django.apps import AppConfig


class RecordsConfig(AppConfig):
    """Take records of what was sent, received and measured, and keep what does not fit apart."""

    name = "apps.records"
