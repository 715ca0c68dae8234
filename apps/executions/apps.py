from django.apps import AppConfig


class ExecutionsConfig(AppConfig):
    """Manage what is in force at the brokers, and the executions that change it through the
    agents."""

    name = "apps.executions"
