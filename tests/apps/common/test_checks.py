"""Databases of versions that this one cannot migrate are refused, with the next move."""

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from apps.common.checks import check_tables_can_be_migrated

pytestmark = pytest.mark.django_db
Applied = MigrationRecorder.Migration


def test_tables_of_today_pass():
    assert check_tables_can_be_migrated(None, ["default"]) == []


def test_tables_made_step_by_step_need_nothing(capsys):
    Applied.objects.filter(app="executions", name="0001_initial").delete()
    assert check_tables_can_be_migrated(None, ["default"]) == []
    call_command("migrate")
    assert "No migrations to apply" in capsys.readouterr().out
    assert Applied.objects.filter(app="executions", name="0001_initial").exists()


def test_tables_between_two_steps_are_refused_before_anything_changes():
    gone = Applied.objects.filter(
        app="executions", name__in=["0001_initial", "0012_when_a_hold_was_overridden"]
    )
    gone.delete()
    applied = set(MigrationRecorder(connection).applied_migrations())
    with pytest.raises(CommandError) as refused:
        call_command("migrate", skip_checks=False)
    message = str(refused.value)
    assert "tables of executions are of an older Weir: 0012_when_a_hold_was_overridden" in message
    assert "`manage.py migrate` of commit" in message
    assert set(MigrationRecorder(connection).applied_migrations()) == applied
