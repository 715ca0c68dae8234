from django.apps import AppConfig


class AuditConfig(AppConfig):
    """Keep an append-only record of who did what, when and why."""

    name = "apps.audit"
