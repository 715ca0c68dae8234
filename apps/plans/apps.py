from django.apps import AppConfig


class PlansConfig(AppConfig):
    """Plan changes: what changes, in which order and why; who approved it; when it may happen."""

    name = "apps.plans"
