"""Make documents of settings, not of the model: an edit of the model no longer raises a number.

What administrators set for the whole system without a plan does: access and retention.
"""

from django.db import migrations

FORWARD = """
DROP TRIGGER documents_follow_model ON systems_system;
CREATE CONSTRAINT TRIGGER documents_follow_system AFTER UPDATE OF access_version, retention_version
  ON systems_system DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (OLD.access_version <> NEW.access_version
        OR OLD.retention_version <> NEW.retention_version)
  EXECUTE FUNCTION weir_documents_differ('id');
"""
BACKWARD = """
DROP TRIGGER documents_follow_system ON systems_system;
CREATE CONSTRAINT TRIGGER documents_follow_model AFTER UPDATE OF model_version ON systems_system
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.model_version <> NEW.model_version)
  EXECUTE FUNCTION weir_documents_differ('id');
"""


class Migration(migrations.Migration):
    dependencies = [
        ("executions", "0010_model_in_force"),
        ("systems", "0004_retention"),
    ]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
