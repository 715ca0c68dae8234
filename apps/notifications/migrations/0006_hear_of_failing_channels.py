from typing import Any

from django.db import migrations

CHOICES = ("Channel", "NotificationSettings")


def hear(apps: Any, schema_editor: Any) -> None:
    """Let whoever wants to hear of failing webhooks hear of failing channels, too."""
    for name in CHOICES:
        rows = apps.get_model("notifications", name).objects
        for row in rows.filter(kinds__contains=["webhook_failing"]):
            row.kinds = sorted({*row.kinds, "channel_failing"})
            row.save(update_fields=["kinds"])


def forget(apps: Any, schema_editor: Any) -> None:
    """Take the kind out of all choices, and the items of that kind away."""
    for name in CHOICES:
        rows = apps.get_model("notifications", name).objects
        for row in rows.filter(kinds__contains=["channel_failing"]):
            row.kinds = [kind for kind in row.kinds if kind != "channel_failing"]
            row.save(update_fields=["kinds"])
    apps.get_model("inbox", "Item").objects.filter(kind="channel_failing").delete()


class Migration(migrations.Migration):
    dependencies = [
        ("notifications", "0005_channel_failing"),
    ]

    operations = [
        migrations.RunPython(hear, forget),
    ]
