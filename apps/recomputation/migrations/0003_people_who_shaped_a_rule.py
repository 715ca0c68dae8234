"""Store everybody who changed a schedule or trigger, since they had a hand in its plans."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("recomputation", "0002_subjects"),
    ]

    operations = [
        migrations.AddField(
            model_name="firing",
            name="shaped_by",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.BigIntegerField(),
                default=list,
                help_text="Keys of the people who had a hand in it.",
                size=None,
            ),
        ),
        migrations.AddField(
            model_name="schedule",
            name="shaped_by",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.BigIntegerField(),
                default=list,
                help_text="Keys of the people who made or changed it.",
                size=None,
            ),
        ),
        migrations.AddField(
            model_name="trigger",
            name="shaped_by",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.BigIntegerField(),
                default=list,
                help_text="Keys of the people who made or changed it.",
                size=None,
            ),
        ),
    ]
