"""Refuse databases of versions that this one cannot migrate, before anything is migrated."""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.core.checks import Error, Tags, register
from django.db import OperationalError, connections
from django.db.migrations.recorder import MigrationRecorder

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
