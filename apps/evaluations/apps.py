"""Overlay evaluations and their candidates."""

from django.apps import AppConfig


class OverlaysConfig(AppConfig):
    """Overlay evaluations and their candidates."""

    name = "apps.evaluations"
    # Tables and permissions keep the name that they were made with.
    label = "overlays"
