from django.apps import AppConfig


class MappingsConfig(AppConfig):
    """Map flows to streams and streams to groups."""

    name = "apps.mappings"
    computations = ("apps.mappings.services.computation.MAPPING",)
