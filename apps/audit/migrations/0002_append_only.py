"""Make the record append-only: the database refuses to change or delete an entry."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION weir_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit record can only be added to'
        USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'audit_append_only';
END $$;
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON audit_auditentry
    FOR EACH ROW EXECUTE FUNCTION weir_append_only();
"""
BACKWARD = "DROP TRIGGER audit_append_only ON audit_auditentry; DROP FUNCTION weir_append_only();"


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_record")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
