"""Create plans, decisions, history and policies, with triggers for what no constraint can say.

A plan's document never changes; a decision names its plan's hash and is made by nobody who had a
hand in the plan; decisions and events are only added to, and go only with their plan, a plan only
with its system.
"""

import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import weir.lifecycle.plans

FORWARD = """
CREATE FUNCTION weir_plan_document_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'what a plan says never changes; make a new plan'
        USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'plan_document_kept';
END $$;
CREATE TRIGGER plan_document_kept BEFORE UPDATE ON plans_plan FOR EACH ROW WHEN (
    (OLD.document, OLD.content_hash, OLD.kind, OLD.title, OLD.number, OLD.model_version,
     OLD.snapshot_hash, OLD.source_kind, OLD.source_id, OLD.source_name, OLD.blast_radius,
     OLD.system_id, OLD.author_id)
    IS DISTINCT FROM
    (NEW.document, NEW.content_hash, NEW.kind, NEW.title, NEW.number, NEW.model_version,
     NEW.snapshot_hash, NEW.source_kind, NEW.source_id, NEW.source_name, NEW.blast_radius,
     NEW.system_id, NEW.author_id)
) EXECUTE FUNCTION weir_plan_document_kept();

CREATE FUNCTION weir_decision_sound() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    plan plans_plan%ROWTYPE;
BEGIN
    SELECT * INTO plan FROM plans_plan WHERE id = NEW.plan_id;
    IF NEW.person_id IN (plan.author_id, plan.submitted_by_id, plan.answerable_id) OR NEW.person_id = ANY (plan.shaped_by) THEN
        RAISE EXCEPTION 'nobody decides about a plan that they made or sent for review'
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'decision_not_own';
    END IF;
    IF NEW.content_hash <> plan.content_hash OR NEW.model_version <> plan.model_version THEN
        RAISE EXCEPTION 'a decision names the hash and the model version of its plan'
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'decision_names_plan';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER decision_sound BEFORE INSERT ON plans_approval
    FOR EACH ROW EXECUTE FUNCTION weir_decision_sound();

CREATE FUNCTION weir_decision_only_ends() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.ended_at IS NOT NULL OR NEW.ended_at IS NULL OR
       (OLD.id, OLD.public_id, OLD.created_at, OLD.plan_id, OLD.person_id, OLD.decision,
        OLD.comment, OLD.content_hash, OLD.model_version, OLD.at, OLD.expires_at)
       IS DISTINCT FROM
       (NEW.id, NEW.public_id, NEW.created_at, NEW.plan_id, NEW.person_id, NEW.decision,
        NEW.comment, NEW.content_hash, NEW.model_version, NEW.at, NEW.expires_at)
    THEN
        RAISE EXCEPTION 'a decision is never edited; it can only end, once'
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'decision_only_ends';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER decision_only_ends BEFORE UPDATE ON plans_approval
    FOR EACH ROW EXECUTE FUNCTION weir_decision_only_ends();

CREATE FUNCTION weir_plan_event_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the history of a plan can only be added to'
        USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'plan_event_kept';
END $$;
CREATE TRIGGER plan_event_kept BEFORE UPDATE ON plans_planevent
    FOR EACH ROW EXECUTE FUNCTION weir_plan_event_kept();

CREATE FUNCTION weir_goes_with_its_plan() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM plans_plan WHERE id = OLD.plan_id) THEN
        RAISE EXCEPTION 'decisions and history go only with their plan'
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'goes_with_its_plan';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER decision_goes_with_its_plan AFTER DELETE ON plans_approval
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION weir_goes_with_its_plan();
CREATE CONSTRAINT TRIGGER event_goes_with_its_plan AFTER DELETE ON plans_planevent
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION weir_goes_with_its_plan();

CREATE FUNCTION weir_plan_goes_with_its_system() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM systems_system WHERE id = OLD.system_id) THEN
        RAISE EXCEPTION 'a plan goes only with its system'
            USING ERRCODE = 'integrity_constraint_violation',
                  CONSTRAINT = 'plan_goes_with_its_system';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER plan_goes_with_its_system AFTER DELETE ON plans_plan
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION weir_plan_goes_with_its_system();
"""
BACKWARD = """
DROP TRIGGER plan_goes_with_its_system ON plans_plan;
DROP TRIGGER event_goes_with_its_plan ON plans_planevent;
DROP TRIGGER decision_goes_with_its_plan ON plans_approval;
DROP TRIGGER plan_event_kept ON plans_planevent;
DROP TRIGGER decision_only_ends ON plans_approval;
DROP TRIGGER decision_sound ON plans_approval;
DROP TRIGGER plan_document_kept ON plans_plan;
DROP FUNCTION weir_plan_goes_with_its_system();
DROP FUNCTION weir_goes_with_its_plan();
DROP FUNCTION weir_plan_event_kept();
DROP FUNCTION weir_decision_only_ends();
DROP FUNCTION weir_decision_sound();
DROP FUNCTION weir_plan_document_kept();
"""


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("plans", "0001_plans"),
        ("plans", "0002_policies"),
        ("plans", "0003_policy_judges_changes"),
        ("plans", "0004_answerable_person"),
        ("plans", "0005_policy_pauses_at_windows"),
        ("plans", "0006_people_who_shaped_a_plan"),
        ("plans", "0007_remove_after"),
        ("plans", "0008_auto_approval_by"),
        ("plans", "0009_plan_verdicts"),
        ("plans", "0010_accepted_overload"),
        ("plans", "0011_roll_back_pace"),
    ]

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("executions", "0001_initial"),
        ("runs", "0001_initial"),
        ("systems", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Plan",
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
                        related_name="plans",
                        to="systems.system",
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("kind", models.CharField(max_length=32)),
                ("title", models.CharField(max_length=200)),
                (
                    "author",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "answerable",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "shaped_by",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(),
                        default=list,
                        help_text="Keys of the people who had a hand in what made it.",
                        size=None,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        default=weir.lifecycle.plans.PlanState["DRAFT"], max_length=16
                    ),
                ),
                ("document", models.BinaryField()),
                ("content_hash", models.CharField(max_length=64)),
                ("model_version", models.PositiveIntegerField()),
                ("snapshot_hash", models.CharField(blank=True, max_length=64)),
                ("source_kind", models.CharField(max_length=32)),
                ("source_id", models.UUIDField(null=True)),
                ("source_name", models.CharField(blank=True, max_length=200)),
                (
                    "run",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="plans",
                        to="runs.run",
                    ),
                ),
                ("blast_radius", models.JSONField(default=dict)),
                ("submitted_at", models.DateTimeField(null=True)),
                (
                    "submitted_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "waiting_since",
                    models.DateTimeField(help_text="Since when a review is due.", null=True),
                ),
                (
                    "expires_at",
                    models.DateTimeField(help_text="When the first approval lapses.", null=True),
                ),
                ("stale_because", models.TextField(blank=True)),
                (
                    "accepted_overload",
                    models.TextField(
                        blank=True,
                        help_text="Why it may load more than a capacity; empty: it may not.",
                    ),
                ),
                (
                    "accepted_overload_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("accepted_overload_at", models.DateTimeField(null=True)),
                (
                    "superseded_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="supersedes",
                        to="plans.plan",
                    ),
                ),
                (
                    "execution",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.RESTRICT,
                        related_name="plan",
                        to="executions.execution",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [
                    models.Index(fields=["system", "-id"], name="plan_by_system"),
                    models.Index(fields=["state", "system"], name="plan_by_state"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("system", "number"), name="plan_number_once"),
                    models.UniqueConstraint(
                        condition=models.Q(("state", "executing")),
                        fields=("system",),
                        name="one_plan_executing_per_system",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                [
                                    "approved",
                                    "discarded",
                                    "draft",
                                    "executed",
                                    "executing",
                                    "pending_review",
                                    "rejected",
                                    "stale",
                                    "superseded",
                                ],
                            )
                        ),
                        name="plan_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("content_hash__regex", "^[0-9a-f]{64}$")),
                        name="plan_hash_is_sha256",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "stale"), _negated=True),
                            models.Q(("stale_because", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="plan_stale_has_a_reason",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "pending_review"), _negated=True),
                            models.Q(
                                ("submitted_at__isnull", False), ("waiting_since__isnull", False)
                            ),
                            _connector="OR",
                        ),
                        name="plan_in_review_was_submitted",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state__in", ["executed", "executing"]), _negated=True),
                            ("execution__isnull", False),
                            _connector="OR",
                        ),
                        name="plan_begun_has_an_execution",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("state__in", ["approved", "draft", "pending_review"]),
                                _negated=True,
                            ),
                            ("execution", None),
                            _connector="OR",
                        ),
                        name="plan_unsettled_has_no_execution",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "approved"), _negated=True),
                            ("expires_at__isnull", False),
                            _connector="OR",
                        ),
                        name="plan_approved_has_an_end",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("accepted_overload", ""),
                                ("accepted_overload_at", None),
                                ("accepted_overload_by", None),
                            ),
                            models.Q(
                                models.Q(("accepted_overload", ""), _negated=True),
                                ("accepted_overload_at__isnull", False),
                                ("accepted_overload_by__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="plan_overload_accepted_by_somebody",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Approval",
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
                    "plan",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="approvals",
                        to="plans.plan",
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "decision",
                    models.CharField(
                        choices=[("approve", "Approve"), ("reject", "Reject")], max_length=8
                    ),
                ),
                ("comment", models.TextField(blank=True)),
                ("content_hash", models.CharField(max_length=64)),
                ("model_version", models.PositiveIntegerField()),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("ended_because", models.CharField(blank=True, max_length=200)),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("ended_at", None)),
                        fields=("plan", "person"),
                        name="one_live_decision_per_person",
                        nulls_distinct=False,
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("decision__in", ["approve", "reject"])),
                        name="decision_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("content_hash__regex", "^[0-9a-f]{64}$")),
                        name="decision_names_a_hash",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("decision", "approve"), _negated=True),
                            ("expires_at__isnull", False),
                            _connector="OR",
                        ),
                        name="approval_has_an_end",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("decision", "reject"), _negated=True),
                            models.Q(("comment", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="rejection_says_why",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("ended_at", None), ("ended_because", "")),
                            models.Q(
                                ("ended_at__isnull", False),
                                models.Q(("ended_because", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="decision_ended_has_a_reason",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PlanEvent",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "plan",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="events",
                        to="plans.plan",
                    ),
                ),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("actor_name", models.CharField(max_length=150)),
                ("command", models.CharField(max_length=32)),
                ("state", models.CharField(max_length=16)),
                ("title", models.CharField(max_length=200)),
                ("note", models.TextField(blank=True)),
            ],
            options={
                "ordering": ["id"],
            },
        ),
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
                "verbose_name_plural": "policies",
                "ordering": ["id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("system",), name="one_policy_per_system", nulls_distinct=False
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("inherits", False), ("system__isnull", False), _connector="OR"
                        ),
                        name="default_policy_inherits_from_nobody",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("auto_approve_max_share__gte", 0), ("auto_approve_max_share__lte", 1)
                        ),
                        name="policy_auto_approve_share_between_0_and_1",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("auto_approve_max_change__gte", 0), ("auto_approve_max_change__lte", 1)
                        ),
                        name="policy_auto_approve_change_between_0_and_1",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("max_parallel_actions__gte", 1), ("max_parallel_actions__lte", 1000)
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
                        condition=models.Q(("enactment_band__gte", 0), ("enactment_band__lte", 1)),
                        name="policy_band_between_0_and_1",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("enactment_dwell_s__gte", 0), ("enactment_dwell_s__lte", 604800)
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
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "policy",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="rules",
                        to="plans.policy",
                    ),
                ),
                ("position", models.PositiveSmallIntegerField()),
                ("kind", models.CharField(default="*", max_length=32)),
                ("min_brokers", models.PositiveIntegerField(default=0)),
                ("min_share", models.FloatField(default=0.0)),
                ("approvals", models.PositiveSmallIntegerField(default=1)),
            ],
            options={
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
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "policy",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="maintenance_windows",
                        to="plans.policy",
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
            ],
            options={
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
                        condition=models.Q(("duration_s__gte", 60), ("duration_s__lte", 2678400)),
                        name="policy_window_lasts_a_minute_to_31_days",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("cron", ""), _negated=True),
                        name="policy_window_cron_given",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Verification",
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
                    "plan",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="verification",
                        to="plans.plan",
                    ),
                ),
                (
                    "before",
                    models.JSONField(
                        help_text="The utility measured in the window before, block by block.",
                        null=True,
                    ),
                ),
                ("after", models.JSONField(help_text="The same after the execution.", null=True)),
                (
                    "judged",
                    models.CharField(blank=True, help_text="Empty: not yet.", max_length=16),
                ),
                ("because", models.TextField(blank=True)),
                ("judged_at", models.DateTimeField(null=True)),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("judged", ""), ("judged_at", None)),
                            models.Q(
                                models.Q(("judged", ""), _negated=True),
                                models.Q(("because", ""), _negated=True),
                                ("judged_at__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="verdict_has_its_reason",
                    )
                ],
            },
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
