"""Let a policy say whether a plan under way pauses when its window closes."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("plans", "0004_answerable_person"),
    ]

    operations = [
        migrations.AddField(
            model_name="policy",
            name="pause_when_window_closes",
            field=models.BooleanField(default=True),
        ),
    ]
