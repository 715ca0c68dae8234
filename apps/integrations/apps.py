from django.apps import AppConfig


class IntegrationsConfig(AppConfig):
    """Open a change at ServiceNow or elsewhere for each plan, wait for it, and close it."""

    name = "apps.integrations"
    # Executing a plan may wait until its change is approved.
    checks_plans = "apps.integrations.selectors.gate.change_check"
    # Neither may it be resumed before, nor the system deleted while changes are not closed.
    checks_resuming = "apps.integrations.selectors.gate.resume_refusal"
    checks_deleting_systems = "apps.integrations.selectors.gate.deletion_refusal"
