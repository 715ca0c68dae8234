import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("studies", "0001_studies"),
        ("studies", "0002_run_of_a_computed_row"),
    ]

    dependencies = [
        ("allocations", "0001_initial"),
        ("runs", "0001_initial"),
        ("systems", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Study",
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
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="%(class)s",
                        to="runs.run",
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                (
                    "system",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="studies",
                        to="systems.system",
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                (
                    "kind",
                    models.CharField(
                        choices=[("sweep", "Sweep"), ("schedule", "Schedule")], max_length=16
                    ),
                ),
                ("spec", models.JSONField()),
                (
                    "allocation",
                    models.ForeignKey(
                        help_text="Whose snapshot is studied; none where the model was frozen for the study.",
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="studies",
                        to="allocations.allocation",
                    ),
                ),
                (
                    "author",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("points_total", models.PositiveIntegerField()),
                ("version", models.PositiveIntegerField(default=1)),
            ],
            options={
                "ordering": ["-id"],
                "abstract": False,
                "constraints": [
                    models.UniqueConstraint(
                        fields=("system", "number"), name="study_number_once_per_system"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["schedule", "sweep"])),
                        name="study_kind_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("points_total__gte", 1)), name="study_has_points"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="StudyPoint",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="points",
                        to="studies.study",
                    ),
                ),
                ("index", models.PositiveIntegerField(help_text="Position in the study.")),
                ("label", models.CharField(max_length=1000)),
                ("method", models.CharField(max_length=200)),
                ("coordinates", models.JSONField(default=list)),
                ("status", models.CharField(max_length=16)),
                ("reason", models.TextField(blank=True)),
                ("utility", models.FloatField(null=True)),
                ("upper_bound", models.FloatField(null=True)),
                ("gap", models.FloatField(help_text="Relative distance to the bound.", null=True)),
                ("admitted", models.BigIntegerField(null=True)),
                ("wanted", models.BigIntegerField(null=True)),
                ("rate_average_per_s", models.FloatField(null=True)),
                (
                    "moved",
                    models.BigIntegerField(
                        help_text="Consumers changed since the segment before.", null=True
                    ),
                ),
                ("iterations", models.PositiveIntegerField()),
                ("runtime_s", models.FloatField()),
                ("quantities", models.JSONField(default=list)),
                ("marginals", models.JSONField(default=list)),
                ("prices", models.JSONField(default=list)),
                ("groups", models.JSONField(default=list)),
                ("division", models.JSONField(default=dict)),
                ("rates", models.JSONField(null=True)),
            ],
            options={
                "ordering": ["index"],
                "constraints": [
                    models.UniqueConstraint(fields=("study", "index"), name="study_point_once")
                ],
            },
        ),
    ]
