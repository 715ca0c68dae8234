from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """People, roles and API tokens."""

    name = "apps.accounts"
