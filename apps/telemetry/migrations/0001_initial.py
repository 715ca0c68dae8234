"""Create agents and what they measure; an agent runs beside a broker of its own system."""

import uuid

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

import apps.telemetry.models

FORWARD = """
CREATE TRIGGER agent_stays_in_its_system BEFORE INSERT OR UPDATE ON telemetry_agent FOR EACH ROW
    EXECUTE FUNCTION weir_same_system('self', '', 'broker_id', 'topology_broker');
"""
BACKWARD = "DROP TRIGGER agent_stays_in_its_system ON telemetry_agent;"


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("telemetry", "0001_agents_and_samples"),
        ("telemetry", "0002_one_system"),
        ("telemetry", "0003_levels"),
        ("telemetry", "0004_document_numbers"),
        ("telemetry", "0005_addresses_fixed"),
        ("telemetry", "0006_removals"),
        ("telemetry", "0007_losses"),
    ]

    dependencies = [
        ("systems", "0001_initial"),
        ("topology", "0001_initial"),
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
                (
                    "system",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="agents",
                        to="systems.system",
                    ),
                ),
                (
                    "broker",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="agent",
                        to="topology.broker",
                    ),
                ),
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
                ("said_address", models.CharField(blank=True, max_length=300)),
                ("public_key", models.CharField(blank=True, max_length=56)),
                ("edits", models.PositiveIntegerField(default=0)),
                ("facts", models.JSONField(default=dict)),
                ("capabilities", models.JSONField(default=dict)),
                ("observed", models.JSONField(null=True)),
                ("observed_at", models.DateTimeField(null=True)),
                ("last_report_at", models.DateTimeField(null=True)),
                ("report_sequence", models.PositiveBigIntegerField(default=0)),
                ("served_number", models.PositiveBigIntegerField(default=0)),
                ("obeyed_number", models.PositiveBigIntegerField(default=0)),
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
                    models.CheckConstraint(
                        condition=models.Q(
                            ("public_key", ""),
                            ("public_key__regex", "^U[A-Z2-7]{55}$"),
                            _connector="OR",
                        ),
                        name="agent_key_is_an_nkey",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Level",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "broker",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="levels",
                        to="topology.broker",
                    ),
                ),
                ("cell_s", models.PositiveIntegerField(help_text="How long the cell is, seconds.")),
                ("at", models.DateTimeField(help_text="When it begins.")),
                (
                    "handled_per_s",
                    models.FloatField(help_text="Mean of messages in and out, msg/s."),
                ),
                ("measured_s", models.FloatField(help_text="Seconds of it that were measured.")),
            ],
            options={
                "indexes": [models.Index(fields=["cell_s", "at"], name="level_by_time")],
                "constraints": [
                    models.UniqueConstraint(fields=("broker", "cell_s", "at"), name="level_once"),
                    models.CheckConstraint(
                        condition=models.Q(("handled_per_s__gte", 0), ("measured_s__gt", 0)),
                        name="level_positive",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Loss",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "broker",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="losses",
                        to="topology.broker",
                    ),
                ),
                (
                    "flow",
                    models.CharField(
                        blank=True, help_text="Empty: nobody knows of which.", max_length=200
                    ),
                ),
                ("reason", models.CharField(max_length=40)),
                ("count", models.PositiveBigIntegerField(default=0)),
                ("first_at", models.DateTimeField()),
                ("last_at", models.DateTimeField()),
                (
                    "life",
                    models.FloatField(
                        default=0, help_text="When the process that counts last began."
                    ),
                ),
                (
                    "seen",
                    models.PositiveBigIntegerField(
                        default=0, help_text="What that process has counted."
                    ),
                ),
                (
                    "recorded",
                    models.PositiveBigIntegerField(
                        default=0, help_text="Of `count`, in the record."
                    ),
                ),
                ("recorded_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.UniqueConstraint(fields=("broker", "flow", "reason"), name="loss_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Removal",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "system",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="removals",
                        to="systems.system",
                    ),
                ),
                (
                    "broker",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="removals",
                        to="topology.broker",
                    ),
                ),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "over_at",
                    models.DateTimeField(help_text="When an agent was enrolled again.", null=True),
                ),
                (
                    "held",
                    models.JSONField(
                        default=dict,
                        help_text="What it measured last: messages by flow and by link, and when.",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "indexes": [models.Index(fields=["system", "over_at"], name="removal_by_system")],
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
                (
                    "broker",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="samples",
                        to="topology.broker",
                    ),
                ),
                ("at", models.DateTimeField()),
                ("payload", models.JSONField()),
            ],
            options={
                "indexes": [
                    models.Index(fields=["broker", "-at"], name="sample_by_broker"),
                    models.Index(fields=["at"], name="sample_by_time"),
                ],
            },
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
