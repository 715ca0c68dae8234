"""Create the audit record, which the database refuses to change, delete from or empty."""

import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

FORWARD = """
CREATE FUNCTION weir_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit record can only be added to'
        USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'audit_append_only';
END $$;
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON audit_auditentry
    FOR EACH ROW EXECUTE FUNCTION weir_append_only();
-- TRUNCATE bypasses the triggers of rows.
CREATE TRIGGER audit_never_emptied BEFORE TRUNCATE ON audit_auditentry
    FOR EACH STATEMENT EXECUTE FUNCTION weir_append_only();
"""
BACKWARD = """
DROP TRIGGER audit_never_emptied ON audit_auditentry;
DROP TRIGGER audit_append_only ON audit_auditentry;
DROP FUNCTION weir_append_only();
"""


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("audit", "0001_record"),
        ("audit", "0002_append_only"),
        ("audit", "0003_no_truncate"),
    ]

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="AuditEntry",
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
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "actor",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("actor_name", models.CharField(max_length=150)),
                ("action", models.CharField(max_length=64)),
                ("object_kind", models.CharField(max_length=64)),
                ("object_id", models.UUIDField()),
                ("object_name", models.CharField(max_length=200)),
                ("system_id", models.UUIDField(null=True)),
                ("model_version", models.PositiveIntegerField(null=True)),
                ("before", models.JSONField(null=True)),
                ("after", models.JSONField(null=True)),
                ("reason", models.CharField(blank=True, max_length=500)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["object_id", "-id"], name="audit_by_object"),
                    models.Index(fields=["system_id", "-id"], name="audit_by_system"),
                ],
            },
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
