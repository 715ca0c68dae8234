from django.apps import AppConfig


class StudiesConfig(AppConfig):
    """Ask for what-if studies, show their answers as they come, and store them."""

    name = "apps.studies"
    computations = ("apps.studies.services.computation.STUDY",)
