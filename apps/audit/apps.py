from django.apps import AppConfig


class AuditConfig(AppConfig):
    """Append-only record of who did what, when and why."""

    name = "apps.audit"
