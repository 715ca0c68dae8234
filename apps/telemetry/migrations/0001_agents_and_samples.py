import uuid

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import apps.telemetry.models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("systems", "0002_one_system"),
        ("topology", "0006_overlay_edges_stay"),
    ]

    operations = [
        migrations.CreateModel(
            name="Agent",
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
                ("prefix", models.CharField(max_length=12)),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("enrolled_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("revoked_at", models.DateTimeField(null=True)),
                ("incarnation", models.PositiveIntegerField(default=0)),
                ("lease_until", models.DateTimeField(null=True)),
                ("told_state", models.CharField(default="never", max_length=8)),
                ("agent_version", models.CharField(blank=True, max_length=64)),
                ("product", models.CharField(blank=True, max_length=32)),
                ("address", models.CharField(blank=True, max_length=300)),
                ("facts", models.JSONField(default=dict)),
                ("capabilities", models.JSONField(default=dict)),
                ("observed", models.JSONField(null=True)),
                ("observed_at", models.DateTimeField(null=True)),
                ("last_report_at", models.DateTimeField(null=True)),
                (
                    "broker",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="agent",
                        to="topology.broker",
                    ),
                ),
                (
                    "system",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="agents",
                        to="systems.system",
                    ),
                ),
            ],
            options={
                "ordering": ["broker__name"],
                "indexes": [
                    models.Index(fields=["told_state", "lease_until"], name="agent_by_lease")
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("digest__regex", "^[0-9a-f]{64}$")),
                        name="agent_digest_is_sha256",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "told_state__in",
                                [
                                    apps.telemetry.models.AgentState["LIVE"],
                                    apps.telemetry.models.AgentState["NEVER"],
                                    apps.telemetry.models.AgentState["REVOKED"],
                                    apps.telemetry.models.AgentState["SILENT"],
                                ],
                            )
                        ),
                        name="agent_told_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("lease_until", None), ("incarnation__gt", 0), _connector="OR"
                        ),
                        name="agent_lease_needs_a_session",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Sample",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField()),
                ("payload", models.JSONField()),
                (
                    "broker",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="samples",
                        to="topology.broker",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["broker", "-at"], name="sample_by_broker"),
                    models.Index(fields=["at"], name="sample_by_time"),
                ],
            },
        ),
    ]
