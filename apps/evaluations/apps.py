"""Register overlay evaluations and their candidates."""

from django.apps import AppConfig


class OverlaysConfig(AppConfig):
    """Evaluate overlays: candidates for a better tree, and what reaching each would take."""

    name = "apps.evaluations"
    # Tables and permissions keep their original name.
    label = "overlays"
    computations = ("apps.evaluations.services.computation.EVALUATION",)
