from django.apps import AppConfig


class PlansConfig(AppConfig):
    """What shall change, in which order and why; who agreed to it; when it may happen."""

    name = "apps.plans"
