from django.apps import AppConfig


class PlacementsConfig(AppConfig):
    """Place publishers of a topic over brokers: ask for a run, keep its result, try changes."""

    name = "apps.placements"
    computations = ("apps.placements.services.computation.PLACEMENT",)
