from typing import Any

from django.db import migrations

CHOICES = ("Channel", "NotificationSettings")
KINDS = ("budget_spent", "slo_burns", "slo_burns_fast")


def hear(apps: Any, schema_editor: Any) -> None:
    """Let whoever wants to hear of lost messages hear of SLOs that burn, too."""
    for name in CHOICES:
        rows = apps.get_model("notifications", name).objects
        for row in rows.filter(kinds__contains=["messages_lost"]):
            row.kinds = sorted({*row.kinds, *KINDS})
            row.save(update_fields=["kinds"])


def forget(apps: Any, schema_editor: Any) -> None:
    """Take the kinds out of all choices, and the items of these kinds away."""
    for name in CHOICES:
        rows = apps.get_model("notifications", name).objects
        for row in rows.filter(kinds__overlap=list(KINDS)):
            row.kinds = [kind for kind in row.kinds if kind not in KINDS]
            row.save(update_fields=["kinds"])
    apps.get_model("inbox", "Item").objects.filter(kind__in=KINDS).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("notifications", "0007_slos_that_burn"),
    ]

    operations = [
        migrations.RunPython(hear, forget),
    ]
