"""Take over the tables of policies, which the app `plans` made; nothing in the database changes."""

import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("plans", "0002_policies_of_their_own"),
        ("systems", "0001_initial"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="Policy",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True,
                                primary_key=True,
                                serialize=False,
                                verbose_name="ID",
                            ),
                        ),
                        (
                            "public_id",
                            models.UUIDField(default=uuid.uuid4, editable=False, unique=True),
                        ),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        ("updated_at", models.DateTimeField(auto_now=True)),
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
                        (
                            "inherits",
                            models.BooleanField(
                                default=False,
                                help_text="The installation's default holds; the first change ends this.",
                            ),
                        ),
                        ("auto_approve_max_share", models.FloatField(default=0.0)),
                        ("auto_approve_max_change", models.FloatField(default=0.1)),
                        ("pause_when_window_closes", models.BooleanField(default=True)),
                        ("max_parallel_actions", models.PositiveIntegerField(default=20)),
                        ("pace_s", models.FloatField(default=0.0)),
                        ("roll_back_pace_s", models.FloatField(default=0.0)),
                        ("enactment_threshold", models.FloatField(default=0.01)),
                        ("enactment_band", models.FloatField(default=0.0)),
                        ("enactment_dwell_s", models.FloatField(default=0.0)),
                        ("churn_per_consumer", models.FloatField(default=0.0)),
                        ("churn_per_rate_change", models.FloatField(default=0.0)),
                        ("approval_ttl_s", models.PositiveIntegerField(default=86400)),
                        ("remove_after_s", models.PositiveIntegerField(default=300)),
                        ("rate_control", models.BooleanField(default=False)),
                        ("rate_control_band", models.FloatField(default=0.2)),
                        (
                            "auto_approval_by",
                            models.ForeignKey(
                                editable=False,
                                help_text="Who decided last what is approved without a person.",
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        ("version", models.PositiveIntegerField(default=1, editable=False)),
                    ],
                    options={
                        "db_table": "plans_policy",
                        "verbose_name_plural": "policies",
                        "ordering": ["id"],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("system",),
                                name="one_policy_per_system",
                                nulls_distinct=False,
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("inherits", False), ("system__isnull", False), _connector="OR"
                                ),
                                name="default_policy_inherits_from_nobody",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("auto_approve_max_share__gte", 0),
                                    ("auto_approve_max_share__lte", 1),
                                ),
                                name="policy_auto_approve_share_between_0_and_1",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("auto_approve_max_change__gte", 0),
                                    ("auto_approve_max_change__lte", 1),
                                ),
                                name="policy_auto_approve_change_between_0_and_1",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("max_parallel_actions__gte", 1),
                                    ("max_parallel_actions__lte", 1000),
                                ),
                                name="policy_parallel_actions_between_1_and_1000",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("pace_s__gte", 0), ("pace_s__lte", 86400)),
                                name="policy_pace_at_most_a_day",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("roll_back_pace_s__gte", 0), ("roll_back_pace_s__lte", 86400)
                                ),
                                name="policy_roll_back_pace_at_most_a_day",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("enactment_threshold__gte", 0), ("enactment_threshold__lte", 1)
                                ),
                                name="policy_threshold_between_0_and_1",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("enactment_band__gte", 0), ("enactment_band__lte", 1)
                                ),
                                name="policy_band_between_0_and_1",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("enactment_dwell_s__gte", 0),
                                    ("enactment_dwell_s__lte", 604800),
                                ),
                                name="policy_dwell_at_most_a_week",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("churn_per_consumer__gte", 0),
                                    ("churn_per_consumer__lt", float("inf")),
                                    ("churn_per_rate_change__gte", 0),
                                    ("churn_per_rate_change__lt", float("inf")),
                                ),
                                name="policy_churn_finite_not_negative",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("approval_ttl_s__gte", 60), ("approval_ttl_s__lte", 31622400)
                                ),
                                name="policy_approval_ttl_between_a_minute_and_a_year",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("remove_after_s__gte", 30), ("remove_after_s__lte", 31622400)
                                ),
                                name="policy_remove_after_between_30_s_and_a_year",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("rate_control_band__gt", 0), ("rate_control_band__lte", 1)
                                ),
                                name="policy_rate_control_band_above_0_at_most_1",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="PolicyRule",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True,
                                primary_key=True,
                                serialize=False,
                                verbose_name="ID",
                            ),
                        ),
                        (
                            "policy",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="rules",
                                to="policies.policy",
                            ),
                        ),
                        ("position", models.PositiveSmallIntegerField()),
                        ("kind", models.CharField(default="*", max_length=32)),
                        ("min_brokers", models.PositiveIntegerField(default=0)),
                        ("min_share", models.FloatField(default=0.0)),
                        ("approvals", models.PositiveSmallIntegerField(default=1)),
                    ],
                    options={
                        "db_table": "plans_policyrule",
                        "ordering": ["position"],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("policy", "position"), name="policy_rule_place_once"
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("kind", ""), _negated=True),
                                name="policy_rule_kind_given",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("min_share__gte", 0), ("min_share__lte", 1)),
                                name="policy_rule_share_between_0_and_1",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("approvals__gte", 1), ("approvals__lte", 9)),
                                name="policy_rule_asks_for_1_to_9_approvals",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="PolicyWindow",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True,
                                primary_key=True,
                                serialize=False,
                                verbose_name="ID",
                            ),
                        ),
                        (
                            "policy",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="maintenance_windows",
                                to="policies.policy",
                            ),
                        ),
                        ("position", models.PositiveSmallIntegerField()),
                        (
                            "effect",
                            models.CharField(
                                choices=[("allow", "Allow"), ("deny", "Deny")], max_length=8
                            ),
                        ),
                        ("cron", models.CharField(max_length=100)),
                        ("duration_s", models.PositiveIntegerField()),
                        ("timezone", models.CharField(default="UTC", max_length=64)),
                        ("note", models.CharField(blank=True, max_length=200)),
                    ],
                    options={
                        "db_table": "plans_policywindow",
                        "ordering": ["position"],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("policy", "position"), name="policy_window_place_once"
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("effect__in", ["allow", "deny"])),
                                name="policy_window_effect_known",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("duration_s__gte", 60), ("duration_s__lte", 2678400)
                                ),
                                name="policy_window_lasts_a_minute_to_31_days",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("cron", ""), _negated=True),
                                name="policy_window_cron_given",
                            ),
                        ],
                    },
                ),
            ]
        ),
    ]
