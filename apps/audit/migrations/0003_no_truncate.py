"""Refuse TRUNCATE on the record, which bypasses the triggers of rows."""

from django.db import migrations

FORWARD = """
CREATE TRIGGER audit_never_emptied BEFORE TRUNCATE ON audit_auditentry
    FOR EACH STATEMENT EXECUTE FUNCTION weir_append_only();
"""
BACKWARD = "DROP TRIGGER audit_never_emptied ON audit_auditentry;"


class Migration(migrations.Migration):
    dependencies = [("audit", "0002_append_only")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
