"""Separate what is in force from the model: neither its names nor its deletions change it.

An edit of the model must not change what agents enforce. Names that are in force are kept by the
services (`apps.systems.services`), which refuse to rename or delete their bearer.
"""

from importlib import import_module

from django.db import migrations

earlier = import_module("apps.executions.migrations.0003_settings_follow_names")


class Migration(migrations.Migration):
    dependencies = [("executions", "0008_outcomes_by_hand")]
    operations = [
        *(
            migrations.RunSQL(operation.reverse_sql, operation.sql)
            for operation in (
                earlier._triggers(table, part) for table, part in earlier.PARTS.items()
            )
        ),
        migrations.RunSQL(earlier.NO_FUNCTIONS, earlier.FUNCTIONS),
    ]
