from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Manage people, roles and API tokens."""

    name = "apps.accounts"
