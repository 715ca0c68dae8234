from django.apps import AppConfig


class CatalogConfig(AppConfig):
    """Topics, publishers, consumer classes, utility functions, SLOs, streams, groups, interests."""

    name = "apps.catalog"
