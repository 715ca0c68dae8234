"""Create plans, decisions and history, with triggers for what no constraint can say.

A plan's document never changes; a decision names its plan's hash and is nobody's own; decisions
and events are only added to, and go only with their plan, a plan only with its system.
"""

import uuid

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
    IF NEW.person_id IN (plan.author_id, plan.submitted_by_id) THEN
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

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("executions", "0001_executions"),
        ("runs", "0001_snapshots_and_runs"),
        ("systems", "0002_one_system"),
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
                ("number", models.PositiveIntegerField()),
                ("kind", models.CharField(max_length=32)),
                ("title", models.CharField(max_length=200)),
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
                ("blast_radius", models.JSONField(default=dict)),
                ("submitted_at", models.DateTimeField(null=True)),
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
                    "author",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
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
                (
                    "run",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="plans",
                        to="runs.run",
                    ),
                ),
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
                    "superseded_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="supersedes",
                        to="plans.plan",
                    ),
                ),
                (
                    "system",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="plans",
                        to="systems.system",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
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
                    "plan",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="approvals",
                        to="plans.plan",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
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
                ("at", models.DateTimeField(auto_now_add=True)),
                ("actor_name", models.CharField(max_length=150)),
                ("command", models.CharField(max_length=32)),
                ("state", models.CharField(max_length=16)),
                ("title", models.CharField(max_length=200)),
                ("note", models.TextField(blank=True)),
                (
                    "plan",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="events",
                        to="plans.plan",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.AddIndex(
            model_name="plan",
            index=models.Index(fields=["system", "-id"], name="plan_by_system"),
        ),
        migrations.AddIndex(
            model_name="plan",
            index=models.Index(fields=["state", "system"], name="plan_by_state"),
        ),
        migrations.AddConstraint(
            model_name="plan",
            constraint=models.UniqueConstraint(
                fields=("system", "number"), name="plan_number_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="plan",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state", "executing")),
                fields=("system",),
                name="one_plan_executing_per_system",
            ),
        ),
        migrations.AddConstraint(
            model_name="plan",
            constraint=models.CheckConstraint(
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
        ),
        migrations.AddConstraint(
            model_name="plan",
            constraint=models.CheckConstraint(
                condition=models.Q(("content_hash__regex", "^[0-9a-f]{64}$")),
                name="plan_hash_is_sha256",
            ),
        ),
        migrations.AddConstraint(
            model_name="plan",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state", "stale"), _negated=True),
                    models.Q(("stale_because", ""), _negated=True),
                    _connector="OR",
                ),
                name="plan_stale_has_a_reason",
            ),
        ),
        migrations.AddConstraint(
            model_name="plan",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state", "pending_review"), _negated=True),
                    models.Q(("submitted_at__isnull", False), ("waiting_since__isnull", False)),
                    _connector="OR",
                ),
                name="plan_in_review_was_submitted",
            ),
        ),
        migrations.AddConstraint(
            model_name="plan",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state__in", ["executed", "executing"]), _negated=True),
                    ("execution__isnull", False),
                    _connector="OR",
                ),
                name="plan_begun_has_an_execution",
            ),
        ),
        migrations.AddConstraint(
            model_name="plan",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state__in", ["approved", "draft", "pending_review"]), _negated=True),
                    ("execution", None),
                    _connector="OR",
                ),
                name="plan_unsettled_has_no_execution",
            ),
        ),
        migrations.AddConstraint(
            model_name="plan",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state", "approved"), _negated=True),
                    ("expires_at__isnull", False),
                    _connector="OR",
                ),
                name="plan_approved_has_an_end",
            ),
        ),
        migrations.AddConstraint(
            model_name="approval",
            constraint=models.UniqueConstraint(
                condition=models.Q(("ended_at", None)),
                fields=("plan", "person"),
                name="one_live_decision_per_person",
                nulls_distinct=False,
            ),
        ),
        migrations.AddConstraint(
            model_name="approval",
            constraint=models.CheckConstraint(
                condition=models.Q(("decision__in", ["approve", "reject"])), name="decision_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="approval",
            constraint=models.CheckConstraint(
                condition=models.Q(("content_hash__regex", "^[0-9a-f]{64}$")),
                name="decision_names_a_hash",
            ),
        ),
        migrations.AddConstraint(
            model_name="approval",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("decision", "approve"), _negated=True),
                    ("expires_at__isnull", False),
                    _connector="OR",
                ),
                name="approval_has_an_end",
            ),
        ),
        migrations.AddConstraint(
            model_name="approval",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("decision", "reject"), _negated=True),
                    models.Q(("comment", ""), _negated=True),
                    _connector="OR",
                ),
                name="rejection_says_why",
            ),
        ),
        migrations.AddConstraint(
            model_name="approval",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("ended_at", None), ("ended_because", "")),
                    models.Q(
                        ("ended_at__isnull", False), models.Q(("ended_because", ""), _negated=True)
                    ),
                    _connector="OR",
                ),
                name="decision_ended_has_a_reason",
            ),
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
