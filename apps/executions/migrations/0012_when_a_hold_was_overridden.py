"""Store when an operator overrode a window, so that the override ends with that window."""

from typing import Any

from django.db import migrations, models
from django.utils import timezone


def from_now_on(apps: Any, schema_editor: Any) -> None:
    """Count overrides of today from now on."""
    apps.get_model("executions", "Execution").objects.filter(hold_overridden=True).update(
        hold_overridden_at=timezone.now()
    )


def back(apps: Any, schema_editor: Any) -> None:
    """Reverse this migration of override times."""
    apps.get_model("executions", "Execution").objects.exclude(hold_overridden_at=None).update(
        hold_overridden=True
    )


class Migration(migrations.Migration):
    dependencies = [
        ("executions", "0011_documents_follow_settings"),
    ]

    operations = [
        migrations.AddField(
            model_name="execution",
            name="hold_overridden_at",
            field=models.DateTimeField(
                help_text="When an operator let it go on in spite of it.", null=True
            ),
        ),
        migrations.RunPython(from_now_on, back),
        migrations.RemoveField(model_name="execution", name="hold_overridden"),
    ]
