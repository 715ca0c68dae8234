import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import weir.lifecycle.firings


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("recomputation", "0001_recomputation"),
        ("recomputation", "0002_subjects"),
        ("recomputation", "0003_people_who_shaped_a_rule"),
        ("recomputation", "0004_subjects_are_registered"),
    ]

    dependencies = [
        ("plans", "0001_initial"),
        ("runs", "0001_initial"),
        ("systems", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Schedule",
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
                        on_delete=django.db.models.deletion.CASCADE, to="systems.system"
                    ),
                ),
                ("name", models.CharField(max_length=100)),
                ("enabled", models.BooleanField(default=True)),
                ("subject", models.CharField(default="allocation", max_length=32)),
                (
                    "method",
                    models.CharField(
                        blank=True, help_text="Empty: the installation's.", max_length=64
                    ),
                ),
                (
                    "least_benefit",
                    models.FloatField(
                        default=0.0,
                        help_text="Net benefit above which a candidate overlay becomes a plan.",
                    ),
                ),
                ("time_limit_s", models.FloatField(blank=True, null=True)),
                (
                    "then",
                    models.CharField(
                        choices=[
                            ("none", "Compute only"),
                            ("draft", "Make a draft plan"),
                            ("submit", "Make a plan and submit it"),
                        ],
                        default="draft",
                        max_length=8,
                    ),
                ),
                (
                    "answerable",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "shaped_by",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(),
                        default=list,
                        help_text="Keys of the people who made or changed it.",
                        size=None,
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
                ("every_s", models.PositiveIntegerField(blank=True, null=True)),
                ("cron", models.CharField(blank=True, max_length=100)),
                ("timezone", models.CharField(default="UTC", max_length=64)),
                ("next_at", models.DateTimeField(help_text="Null while it is paused.", null=True)),
            ],
            options={
                "ordering": ["system", "name"],
                "indexes": [models.Index(fields=["next_at"], name="schedule_by_next_time")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("system", "name"), name="schedule_name_once_per_system"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name", ""), _negated=True), name="schedule_name_given"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("then__in", ["none", "draft", "submit"])),
                        name="schedule_then_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("least_benefit__gte", 0), ("least_benefit__lt", float("inf"))
                        ),
                        name="schedule_least_benefit_sound",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("time_limit_s", None),
                            models.Q(("time_limit_s__gte", 0.1), ("time_limit_s__lte", 86400)),
                            _connector="OR",
                        ),
                        name="schedule_time_limit_sound",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("every_s", None), models.Q(("cron", ""), _negated=True)),
                            models.Q(
                                ("cron", ""), ("every_s__gte", 10), ("every_s__lte", 31622400)
                            ),
                            _connector="OR",
                        ),
                        name="schedule_interval_or_cron",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("enabled", True), ("next_at", None), _connector="OR"),
                        name="schedule_paused_is_never_due",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Trigger",
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
                        on_delete=django.db.models.deletion.CASCADE, to="systems.system"
                    ),
                ),
                ("name", models.CharField(max_length=100)),
                ("enabled", models.BooleanField(default=True)),
                ("subject", models.CharField(default="allocation", max_length=32)),
                (
                    "method",
                    models.CharField(
                        blank=True, help_text="Empty: the installation's.", max_length=64
                    ),
                ),
                (
                    "least_benefit",
                    models.FloatField(
                        default=0.0,
                        help_text="Net benefit above which a candidate overlay becomes a plan.",
                    ),
                ),
                ("time_limit_s", models.FloatField(blank=True, null=True)),
                (
                    "then",
                    models.CharField(
                        choices=[
                            ("none", "Compute only"),
                            ("draft", "Make a draft plan"),
                            ("submit", "Make a plan and submit it"),
                        ],
                        default="draft",
                        max_length=8,
                    ),
                ),
                (
                    "answerable",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "shaped_by",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(),
                        default=list,
                        help_text="Keys of the people who made or changed it.",
                        size=None,
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("capacity_change", "Capacities in the model changed"),
                            ("population_change", "Populations in the model changed"),
                            ("slo_breach", "Service-level objectives are missed"),
                            ("load_drift", "Measured load left the model's"),
                            ("broker_overload", "A broker is near or above its capacity"),
                            ("routing_drift", "Routing costs moved since the last evaluation"),
                        ],
                        max_length=24,
                    ),
                ),
                ("threshold", models.FloatField(default=0.0)),
                (
                    "for_s",
                    models.FloatField(
                        default=10.0, help_text="How long the value must stay above."
                    ),
                ),
                (
                    "cooldown_s",
                    models.FloatField(default=300.0, help_text="Least time between two firings."),
                ),
                ("value", models.FloatField(help_text="Null: it cannot be said now.", null=True)),
                ("detail", models.TextField(blank=True)),
                (
                    "basis",
                    models.PositiveIntegerField(
                        help_text="Model version that was looked at.", null=True
                    ),
                ),
                ("looked_at", models.DateTimeField(null=True)),
                ("above_since", models.DateTimeField(null=True)),
                ("fired_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["system", "name"],
                "indexes": [models.Index(fields=["enabled", "looked_at"], name="trigger_by_look")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("system", "name"), name="trigger_name_once_per_system"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name", ""), _negated=True), name="trigger_name_given"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("then__in", ["none", "draft", "submit"])),
                        name="trigger_then_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("least_benefit__gte", 0), ("least_benefit__lt", float("inf"))
                        ),
                        name="trigger_least_benefit_sound",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("time_limit_s", None),
                            models.Q(("time_limit_s__gte", 0.1), ("time_limit_s__lte", 86400)),
                            _connector="OR",
                        ),
                        name="trigger_time_limit_sound",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "kind__in",
                                [
                                    "capacity_change",
                                    "population_change",
                                    "slo_breach",
                                    "load_drift",
                                    "broker_overload",
                                    "routing_drift",
                                ],
                            )
                        ),
                        name="trigger_kind_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("threshold__gte", 0), ("threshold__lt", float("inf"))),
                        name="trigger_threshold_finite_not_negative",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("for_s__gte", 0),
                            ("for_s__lte", 604800),
                            ("cooldown_s__gte", 0),
                            ("cooldown_s__lte", 604800),
                        ),
                        name="trigger_times_at_most_a_week",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Firing",
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
                        related_name="firings",
                        to="systems.system",
                    ),
                ),
                (
                    "schedule",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="firings",
                        to="recomputation.schedule",
                    ),
                ),
                (
                    "trigger",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="firings",
                        to="recomputation.trigger",
                    ),
                ),
                ("cause", models.CharField(help_text="The name it had then.", max_length=100)),
                ("subject", models.CharField(default="allocation", max_length=32)),
                ("least_benefit", models.FloatField(default=0.0)),
                ("why", models.TextField()),
                ("value", models.FloatField(null=True)),
                ("threshold", models.FloatField(null=True)),
                ("method", models.CharField(blank=True, max_length=64)),
                ("time_limit_s", models.FloatField(null=True)),
                (
                    "then",
                    models.CharField(
                        choices=[
                            ("none", "Compute only"),
                            ("draft", "Make a draft plan"),
                            ("submit", "Make a plan and submit it"),
                        ],
                        max_length=8,
                    ),
                ),
                (
                    "account",
                    models.CharField(
                        help_text="In whose name: schedule or trigger.", max_length=16
                    ),
                ),
                (
                    "answerable",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "shaped_by",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(),
                        default=list,
                        help_text="Keys of the people who had a hand in it.",
                        size=None,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        default=weir.lifecycle.firings.FiringState["WAITING"], max_length=16
                    ),
                ),
                ("outcome", models.CharField(blank=True, max_length=16)),
                ("detail", models.TextField(blank=True)),
                (
                    "merged_into",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="recomputation.firing",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="runs.run",
                    ),
                ),
                (
                    "plan",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="plans.plan",
                    ),
                ),
                ("ended_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [models.Index(fields=["system", "-id"], name="firing_by_system")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "waiting")),
                        fields=("system", "subject"),
                        name="one_firing_waits_per_subject",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("state", "computing")),
                        fields=("system", "subject"),
                        name="one_firing_computes_per_subject",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", ["computing", "done", "failed", "merged", "waiting"])
                        ),
                        name="firing_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("ended_at__isnull", False),
                                ("state__in", ["done", "failed", "merged"]),
                            ),
                            models.Q(
                                models.Q(
                                    ("state__in", ["done", "failed", "merged"]), _negated=True
                                ),
                                ("ended_at", None),
                            ),
                            _connector="OR",
                        ),
                        name="firing_ended_has_a_time",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "done"), _negated=True),
                            (
                                "outcome__in",
                                [
                                    "computed",
                                    "drafted",
                                    "submitted",
                                    "approved",
                                    "nothing",
                                    "kept",
                                    "stale",
                                ],
                            ),
                            _connector="OR",
                        ),
                        name="firing_done_has_an_outcome",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "failed"), _negated=True),
                            models.Q(("detail", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="firing_failed_has_a_reason",
                    ),
                ],
            },
        ),
    ]
