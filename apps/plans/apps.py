from django.apps import AppConfig


class PlansConfig(AppConfig):
    """Plan changes: what changes, in which order and why; who approved it; when it may happen."""

    name = "apps.plans"
    # Reports of agents may begin the next step before the coordinator looks at the windows again.
    follows_policies = ("apps.plans.services.windows_hold",)
