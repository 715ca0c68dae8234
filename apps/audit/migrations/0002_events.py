"""Number the entries of the record, so that others can follow it."""

import django.db.models.deletion
from django.db import migrations, models

FORWARD = """
CREATE FUNCTION weir_entries_are_new() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO audit_newentry (entry_id) SELECT id FROM entries ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER audit_entries_are_new AFTER INSERT ON audit_auditentry
    REFERENCING NEW TABLE AS entries
    FOR EACH STATEMENT EXECUTE FUNCTION weir_entries_are_new();
"""
BACKWARD = """
DROP TRIGGER audit_entries_are_new ON audit_auditentry;
DROP FUNCTION weir_entries_are_new();
"""


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_initial")]

    operations = [
        migrations.CreateModel(
            name="NewEntry",
            fields=[
                (
                    "entry",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="audit.auditentry",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Event",
            fields=[
                ("number", models.BigIntegerField(primary_key=True, serialize=False)),
                (
                    "entry",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="event",
                        to="audit.auditentry",
                    ),
                ),
            ],
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
