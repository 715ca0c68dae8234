"""Create policies per system, with their approval rules and maintenance windows."""

import uuid

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("plans", "0001_plans"),
        ("systems", "0002_one_system"),
    ]

    operations = [
        migrations.CreateModel(
            name="Policy",
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
                    "inherits",
                    models.BooleanField(
                        default=False,
                        help_text="The installation's default holds; the first change ends this.",
                    ),
                ),
                ("auto_approve_max_share", models.FloatField(default=0.0)),
                ("auto_approve_max_change", models.FloatField(default=0.1)),
                ("max_parallel_actions", models.PositiveIntegerField(default=20)),
                ("pace_s", models.FloatField(default=0.0)),
                ("enactment_threshold", models.FloatField(default=0.01)),
                ("approval_ttl_s", models.PositiveIntegerField(default=86400)),
                ("rate_control", models.BooleanField(default=False)),
                ("rate_control_band", models.FloatField(default=0.2)),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
                (
                    "system",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="policy",
                        to="systems.system",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "policies",
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="PolicyRule",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("position", models.PositiveSmallIntegerField()),
                ("kind", models.CharField(default="*", max_length=32)),
                ("min_brokers", models.PositiveIntegerField(default=0)),
                ("min_share", models.FloatField(default=0.0)),
                ("approvals", models.PositiveSmallIntegerField(default=1)),
                (
                    "policy",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="rules",
                        to="plans.policy",
                    ),
                ),
            ],
            options={
                "ordering": ["position"],
            },
        ),
        migrations.CreateModel(
            name="PolicyWindow",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("position", models.PositiveSmallIntegerField()),
                (
                    "effect",
                    models.CharField(choices=[("allow", "Allow"), ("deny", "Deny")], max_length=8),
                ),
                ("cron", models.CharField(max_length=100)),
                ("duration_s", models.PositiveIntegerField()),
                ("timezone", models.CharField(default="UTC", max_length=64)),
                ("note", models.CharField(blank=True, max_length=200)),
                (
                    "policy",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="maintenance_windows",
                        to="plans.policy",
                    ),
                ),
            ],
            options={
                "ordering": ["position"],
            },
        ),
        migrations.AddConstraint(
            model_name="policy",
            constraint=models.UniqueConstraint(
                fields=("system",), name="one_policy_per_system", nulls_distinct=False
            ),
        ),
        migrations.AddConstraint(
            model_name="policy",
            constraint=models.CheckConstraint(
                condition=models.Q(("inherits", False), ("system__isnull", False), _connector="OR"),
                name="default_policy_inherits_from_nobody",
            ),
        ),
        migrations.AddConstraint(
            model_name="policy",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("auto_approve_max_share__gte", 0), ("auto_approve_max_share__lte", 1)
                ),
                name="policy_auto_approve_share_between_0_and_1",
            ),
        ),
        migrations.AddConstraint(
            model_name="policy",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("auto_approve_max_change__gte", 0), ("auto_approve_max_change__lte", 1)
                ),
                name="policy_auto_approve_change_between_0_and_1",
            ),
        ),
        migrations.AddConstraint(
            model_name="policy",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("max_parallel_actions__gte", 1), ("max_parallel_actions__lte", 1000)
                ),
                name="policy_parallel_actions_between_1_and_1000",
            ),
        ),
        migrations.AddConstraint(
            model_name="policy",
            constraint=models.CheckConstraint(
                condition=models.Q(("pace_s__gte", 0), ("pace_s__lte", 86400)),
                name="policy_pace_at_most_a_day",
            ),
        ),
        migrations.AddConstraint(
            model_name="policy",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("enactment_threshold__gte", 0), ("enactment_threshold__lte", 1)
                ),
                name="policy_threshold_between_0_and_1",
            ),
        ),
        migrations.AddConstraint(
            model_name="policy",
            constraint=models.CheckConstraint(
                condition=models.Q(("approval_ttl_s__gte", 60), ("approval_ttl_s__lte", 31622400)),
                name="policy_approval_ttl_between_a_minute_and_a_year",
            ),
        ),
        migrations.AddConstraint(
            model_name="policy",
            constraint=models.CheckConstraint(
                condition=models.Q(("rate_control_band__gt", 0), ("rate_control_band__lte", 1)),
                name="policy_rate_control_band_above_0_at_most_1",
            ),
        ),
        migrations.AddConstraint(
            model_name="policyrule",
            constraint=models.UniqueConstraint(
                fields=("policy", "position"), name="policy_rule_place_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="policyrule",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind", ""), _negated=True), name="policy_rule_kind_given"
            ),
        ),
        migrations.AddConstraint(
            model_name="policyrule",
            constraint=models.CheckConstraint(
                condition=models.Q(("min_share__gte", 0), ("min_share__lte", 1)),
                name="policy_rule_share_between_0_and_1",
            ),
        ),
        migrations.AddConstraint(
            model_name="policyrule",
            constraint=models.CheckConstraint(
                condition=models.Q(("approvals__gte", 1), ("approvals__lte", 9)),
                name="policy_rule_asks_for_1_to_9_approvals",
            ),
        ),
        migrations.AddConstraint(
            model_name="policywindow",
            constraint=models.UniqueConstraint(
                fields=("policy", "position"), name="policy_window_place_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="policywindow",
            constraint=models.CheckConstraint(
                condition=models.Q(("effect__in", ["allow", "deny"])),
                name="policy_window_effect_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="policywindow",
            constraint=models.CheckConstraint(
                condition=models.Q(("duration_s__gte", 60), ("duration_s__lte", 2678400)),
                name="policy_window_lasts_a_minute_to_31_days",
            ),
        ),
        migrations.AddConstraint(
            model_name="policywindow",
            constraint=models.CheckConstraint(
                condition=models.Q(("cron", ""), _negated=True), name="policy_window_cron_given"
            ),
        ),
    ]
