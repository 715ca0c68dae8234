"""Exclude people who changed the schedule that made a plan from deciding about it."""

import django.contrib.postgres.fields
from django.db import migrations, models

DECISION = """
CREATE OR REPLACE FUNCTION weir_decision_sound() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    plan plans_plan%ROWTYPE;
BEGIN
    SELECT * INTO plan FROM plans_plan WHERE id = NEW.plan_id;
    IF NEW.person_id IN (plan.author_id, plan.submitted_by_id, plan.answerable_id){shaped} THEN
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
FORWARD = DECISION.replace("{shaped}", " OR NEW.person_id = ANY (plan.shaped_by)")
BACKWARD = DECISION.replace("{shaped}", "")


class Migration(migrations.Migration):
    dependencies = [
        ("plans", "0005_policy_pauses_at_windows"),
    ]

    operations = [
        migrations.AddField(
            model_name="plan",
            name="shaped_by",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.BigIntegerField(),
                default=list,
                help_text="Keys of the people who had a hand in what made it.",
                size=None,
            ),
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
