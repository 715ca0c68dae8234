import uuid

import django.db.models.deletion
from django.db import migrations, models

import apps.catalog.models


class Migration(migrations.Migration):
    dependencies = [("catalog", "0003_publishers")]

    operations = [
        migrations.CreateModel(
            name="UtilityFunction",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "name",
                    models.CharField(
                        help_text="Unique within its kind; letters, digits and . _ - / are safe everywhere.",
                        max_length=200,
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
                (
                    "kind",
                    models.CharField(
                        choices=apps.catalog.models.utility_kind_choices, max_length=32
                    ),
                ),
                ("parameters", models.JSONField(default=dict)),
                (
                    "system",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, to="systems.system"
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.AddConstraint(
            model_name="utilityfunction",
            constraint=models.UniqueConstraint(
                fields=("system", "name"), name="utility_function_name_once_per_system"
            ),
        ),
        migrations.AddConstraint(
            model_name="utilityfunction",
            constraint=models.CheckConstraint(
                condition=models.Q(("name", ""), _negated=True), name="utility_function_name_given"
            ),
        ),
    ]
