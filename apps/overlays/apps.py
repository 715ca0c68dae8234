"""Overlay evaluations and their candidates."""

from django.apps import AppConfig


class OverlaysConfig(AppConfig):
    """Overlay evaluations and their candidates."""

    name = "apps.overlays"
