"""Refuse to start on what could not work: databases of versions that this one cannot migrate, apps
that are not installed, views without an address."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from django.apps import AppConfig, apps
from django.core.checks import Error, Tags, register
from django.db import OperationalError, connections
from django.db.migrations.recorder import MigrationRecorder

from apps.common.api.routing import addresses_in, routes_of

# The last commit whose migrations lead there step by step (docs/adr/0037).
LAST_WITH_ALL_STEPS = "e4d5eb9"


@register(Tags.database)
def check_tables_can_be_migrated(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None, **kwargs: Any
) -> list[Error]:
    """Report apps whose tables stand between two of the migrations that their first one replaces.

    Django would take all of the app's migrations for missing and fail without naming the cause.
    """
    return [error for alias in databases or () for error in _errors(alias)]


def _errors(alias: str) -> list[Error]:
    from django.db.migrations.loader import MigrationLoader  # needs the apps to be ready

    connection = connections[alias]
    try:
        applied = set(MigrationRecorder(connection).applied_migrations())
    except OperationalError:
        return []  # whoever needs the database says that it does not answer
    errors = []
    for key, migration in sorted(MigrationLoader(None).disk_migrations.items()):
        missing = [name for name in migration.replaces if name not in applied]
        if missing and key not in applied and len(missing) < len(migration.replaces):
            steps = ", ".join(name for _, name in missing)
            errors.append(
                Error(
                    f"the tables of {key[0]} are of an older Weir: {steps} not applied",
                    hint=f"Update in two steps: `manage.py migrate` of commit {LAST_WITH_ALL_STEPS}"
                    " first, then of this version. Nothing was changed.",
                    id="weir.E001",
                )
            )
    return errors


APPS = Path(__file__).resolve().parents[1]


def own_apps(app_configs: Sequence[AppConfig] | None) -> list[AppConfig]:
    """Return the apps to check: those that are named, else all of this installation's own."""
    if app_configs is not None:
        return list(app_configs)
    return [config for config in apps.get_app_configs() if config.name.startswith("apps.")]


@register
def check_apps_are_installed(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[Error]:
    """Report folders of `apps` that INSTALLED_APPS does not name."""
    installed = {config.name for config in apps.get_app_configs()}
    return [
        Error(
            f"apps/{name} is not installed: its tables, addresses and tasks do not exist",
            hint=f'Add "apps.{name}" to INSTALLED_APPS in config/settings/base.py.',
            id="weir.E002",
        )
        for name in _folders()
        if f"apps.{name}" not in installed
    ]


def _folders() -> Iterator[str]:
    return (init.parent.name for init in sorted(APPS.glob("*/__init__.py")))


@register
def check_views_have_addresses(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[Error]:
    """Report apps with views whose `api/routes.py` is missing or declares no address."""
    errors = []
    for config in own_apps(app_configs):
        if not Path(config.path, "api", "views.py").is_file():
            continue
        folder = config.name.replace(".", "/")
        routes = routes_of(config)
        if routes is None or not addresses_in(routes):
            what = "is missing" if routes is None else "declares nothing"
            errors.append(
                Error(
                    f"{folder}/api/views.py has views, and {folder}/api/routes.py {what}: nobody "
                    "can reach them",
                    hint=f"Write `def register(router): router.register(...)` or `paths = [...]` "
                    f"in {folder}/api/routes.py; apps/common/api/routing.py explains both.",
                    id="weir.E003",
                )
            )
    return errors
