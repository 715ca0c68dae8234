"""Store imports of interests; check interests by statement, not by row.

An import inserts a million of them: to look up the systems of both sides row by row took most of
its time.
"""

import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import weir.lifecycle.imports

CHECKED = """
CREATE FUNCTION weir_interests_same_system() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM fresh
        JOIN catalog_subscriber AS subscriber ON subscriber.id = fresh.subscriber_id
        JOIN catalog_topic AS topic ON topic.id = fresh.topic_id
        WHERE subscriber.system_id <> topic.system_id
    ) THEN
        RAISE EXCEPTION 'topic_id refers to another system'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'interest_stays_in_its_system';
    END IF;
    RETURN NULL;
END $$;
DROP TRIGGER interest_stays_in_its_system ON catalog_interest;
CREATE TRIGGER interest_stays_in_its_system AFTER INSERT ON catalog_interest
    REFERENCING NEW TABLE AS fresh
    FOR EACH STATEMENT EXECUTE FUNCTION weir_interests_same_system();
CREATE TRIGGER interest_stays_in_its_system_changed AFTER UPDATE ON catalog_interest
    REFERENCING NEW TABLE AS fresh
    FOR EACH STATEMENT EXECUTE FUNCTION weir_interests_same_system();
"""
UNCHECKED = """
DROP TRIGGER interest_stays_in_its_system_changed ON catalog_interest;
DROP TRIGGER interest_stays_in_its_system ON catalog_interest;
DROP FUNCTION weir_interests_same_system();
CREATE TRIGGER interest_stays_in_its_system BEFORE INSERT OR UPDATE ON catalog_interest
    FOR EACH ROW EXECUTE FUNCTION weir_same_system(
        'subscriber_id', 'catalog_subscriber', 'topic_id', 'catalog_topic'
    );
"""


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0005_pins_of_streams"),
        ("systems", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="InterestImport",
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
                (
                    "mode",
                    models.CharField(
                        choices=[("add", "Add"), ("remove", "Remove"), ("replace", "Replace")],
                        max_length=8,
                    ),
                ),
                ("dry_run", models.BooleanField(default=False)),
                (
                    "create_missing",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=32), default=list, size=None
                    ),
                ),
                ("reason", models.CharField(blank=True, max_length=500)),
                ("media_type", models.CharField(max_length=32)),
                ("size_bytes", models.PositiveIntegerField()),
                (
                    "state",
                    models.CharField(
                        default=weir.lifecycle.imports.ImportState["QUEUED"], max_length=16
                    ),
                ),
                ("attempt", models.PositiveSmallIntegerField(default=0)),
                ("worker", models.CharField(blank=True, max_length=200)),
                ("sent_at", models.DateTimeField(null=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("heartbeat_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("cancel_requested_at", models.DateTimeField(null=True)),
                (
                    "phase",
                    models.CharField(
                        choices=[
                            ("read", "Read"),
                            ("match", "Match"),
                            ("compare", "Compare"),
                            ("write", "Write"),
                        ],
                        default="read",
                        max_length=8,
                    ),
                ),
                ("done", models.PositiveIntegerField(default=0)),
                ("total", models.PositiveIntegerField(default=0)),
                ("lines", models.PositiveIntegerField(default=0)),
                ("repeated", models.PositiveIntegerField(default=0)),
                ("added", models.PositiveIntegerField(default=0)),
                ("removed", models.PositiveIntegerField(default=0)),
                ("unchanged", models.PositiveIntegerField(default=0)),
                ("subscribers_changed", models.PositiveIntegerField(default=0)),
                ("subscribers_created", models.PositiveIntegerField(default=0)),
                ("model_version", models.PositiveIntegerField(null=True)),
                ("error_count", models.PositiveIntegerField(default=0)),
                ("errors", models.JSONField(default=list)),
                ("failure", models.TextField(blank=True)),
                (
                    "started_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "system",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="interest_imports",
                        to="systems.system",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="InterestImportPiece",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("place", models.PositiveIntegerField()),
                ("content", models.BinaryField()),
                (
                    "of",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pieces",
                        to="catalog.interestimport",
                    ),
                ),
            ],
            options={
                "ordering": ["place"],
            },
        ),
        migrations.AddIndex(
            model_name="interestimport",
            index=models.Index(fields=["state", "heartbeat_at"], name="interest_import_by_state"),
        ),
        migrations.AddConstraint(
            model_name="interestimport",
            constraint=models.UniqueConstraint(
                fields=("system", "number"), name="interest_import_number_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="interestimport",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "state__in",
                        ["cancelled", "failed", "queued", "refused", "running", "succeeded"],
                    )
                ),
                name="interest_import_state_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="interestimport",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("ended_at__isnull", False),
                        ("state__in", ["cancelled", "failed", "refused", "succeeded"]),
                    ),
                    models.Q(
                        models.Q(
                            ("state__in", ["cancelled", "failed", "refused", "succeeded"]),
                            _negated=True,
                        ),
                        ("ended_at", None),
                    ),
                    _connector="OR",
                ),
                name="interest_import_ended_has_a_time",
            ),
        ),
        migrations.AddConstraint(
            model_name="interestimport",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("state", weir.lifecycle.imports.ImportState["FAILED"]), _negated=True
                    ),
                    models.Q(("failure", ""), _negated=True),
                    _connector="OR",
                ),
                name="interest_import_failed_has_a_reason",
            ),
        ),
        migrations.AddConstraint(
            model_name="interestimportpiece",
            constraint=models.UniqueConstraint(
                fields=("of", "place"), name="interest_import_piece_once"
            ),
        ),
        # It is compressed already.
        migrations.RunSQL(
            "ALTER TABLE catalog_interestimportpiece ALTER COLUMN content SET STORAGE EXTERNAL;",
            "ALTER TABLE catalog_interestimportpiece ALTER COLUMN content SET STORAGE EXTENDED;",
        ),
        migrations.RunSQL(CHECKED, UNCHECKED),
    ]
