from django.apps import AppConfig


class PipelineConfig(AppConfig):
    """Sum records up by minute, and compute facts of them."""

    name = "apps.pipeline"
