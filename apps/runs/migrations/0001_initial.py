import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import weir.lifecycle.runs


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("runs", "0001_snapshots_and_runs"),
        ("runs", "0002_run_starts_from"),
        ("runs", "0003_one_task_for_every_kind"),
    ]

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("systems", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Snapshot",
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
                    "system",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="systems.system",
                    ),
                ),
                ("kind", models.CharField(max_length=32)),
                ("model_version", models.PositiveIntegerField(null=True)),
                ("content_hash", models.CharField(max_length=64)),
                ("payload", models.BinaryField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("system", "kind", "content_hash", "model_version"),
                        name="snapshot_once_per_content",
                        nulls_distinct=False,
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("content_hash__regex", "^[0-9a-f]{64}$")),
                        name="snapshot_hash_is_sha256",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("model_version", None), ("system", None)),
                            models.Q(("model_version__isnull", False), ("system__isnull", False)),
                            _connector="OR",
                        ),
                        name="snapshot_of_a_system_names_its_version",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Run",
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
                ("kind", models.CharField(max_length=32)),
                (
                    "system",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="runs",
                        to="systems.system",
                    ),
                ),
                (
                    "snapshot",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="runs",
                        to="runs.snapshot",
                    ),
                ),
                ("method", models.CharField(max_length=64)),
                ("parameters", models.JSONField(default=dict)),
                ("seed", models.PositiveIntegerField(default=0)),
                ("time_limit_s", models.FloatField(null=True)),
                (
                    "asked_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "rerun_of",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="reruns",
                        to="runs.run",
                    ),
                ),
                (
                    "starts_from",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.RESTRICT,
                        related_name="+",
                        to="runs.run",
                    ),
                ),
                (
                    "state",
                    models.CharField(default=weir.lifecycle.runs.RunState["QUEUED"], max_length=16),
                ),
                ("attempt", models.PositiveSmallIntegerField(default=0)),
                ("worker", models.CharField(blank=True, max_length=200)),
                ("sent_at", models.DateTimeField(null=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("heartbeat_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("cancel_requested_at", models.DateTimeField(null=True)),
                ("progress", models.JSONField(default=dict)),
                ("failure_code", models.CharField(blank=True, max_length=64)),
                ("failure", models.TextField(blank=True)),
                ("kernel_version", models.CharField(blank=True, max_length=32)),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [
                    models.Index(fields=["state", "heartbeat_at"], name="run_by_state"),
                    models.Index(fields=["system", "-id"], name="run_by_system"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                [
                                    "cancelled",
                                    "failed",
                                    "infeasible",
                                    "queued",
                                    "running",
                                    "succeeded",
                                ],
                            )
                        ),
                        name="run_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("finished_at__isnull", False),
                                ("state__in", ["cancelled", "failed", "infeasible", "succeeded"]),
                            ),
                            models.Q(
                                models.Q(
                                    (
                                        "state__in",
                                        ["cancelled", "failed", "infeasible", "succeeded"],
                                    ),
                                    _negated=True,
                                ),
                                ("finished_at", None),
                            ),
                            _connector="OR",
                        ),
                        name="run_ended_has_a_time",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("state", weir.lifecycle.runs.RunState["RUNNING"]), _negated=True
                            ),
                            ("heartbeat_at__isnull", False),
                            _connector="OR",
                        ),
                        name="run_running_has_a_heartbeat",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                (
                                    "state__in",
                                    [
                                        weir.lifecycle.runs.RunState["FAILED"],
                                        weir.lifecycle.runs.RunState["INFEASIBLE"],
                                    ],
                                ),
                                _negated=True,
                            ),
                            models.Q(("failure", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="run_failed_has_a_reason",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RunEvent",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="events",
                        to="runs.run",
                    ),
                ),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("command", models.CharField(max_length=32)),
                ("state", models.CharField(max_length=16)),
                ("attempt", models.PositiveSmallIntegerField()),
                ("note", models.TextField(blank=True)),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="RunResult",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="result",
                        to="runs.run",
                    ),
                ),
                ("payload", models.BinaryField()),
                ("content_hash", models.CharField(max_length=64)),
            ],
        ),
    ]
