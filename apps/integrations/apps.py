from django.apps import AppConfig


class IntegrationsConfig(AppConfig):
    """Open a change at ServiceNow or elsewhere for each plan, wait for it, and close it."""

    name = "apps.integrations"
    # Executing a plan may wait until its change is approved.
    checks_plans = "apps.integrations.selectors.gate.change_check"
