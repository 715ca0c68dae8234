"""Exclude the person responsible for an automatic plan from deciding about it."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

DECISION = """
CREATE OR REPLACE FUNCTION weir_decision_sound() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    plan plans_plan%ROWTYPE;
BEGIN
    SELECT * INTO plan FROM plans_plan WHERE id = NEW.plan_id;
    IF NEW.person_id IN (plan.author_id, plan.submitted_by_id{answerable}) THEN
        RAISE EXCEPTION 'nobody decides about a plan that they made or sent for review'
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'decision_not_own';
    END IF;
    IF NEW.content_hash <> plan.content_hash OR NEW.model_version <> plan.model_version THEN
        RAISE EXCEPTION 'a decision names the hash and the model version of its plan'
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'decision_names_plan';
    END IF;
    RETURN NEW;
END $$;
"""
FORWARD = DECISION.replace("{answerable}", ", plan.answerable_id")
BACKWARD = DECISION.replace("{answerable}", "")


class Migration(migrations.Migration):
    dependencies = [
        ("plans", "0003_policy_judges_changes"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="plan",
            name="answerable",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
