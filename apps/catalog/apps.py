from django.apps import AppConfig


class CatalogConfig(AppConfig):
    """Manage topics, publishers, consumer classes, utility functions, SLOs, streams, groups,
    interests."""

    name = "apps.catalog"
