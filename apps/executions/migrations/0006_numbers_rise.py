"""Raise the number of a system's documents with the model and with agents' addresses, too.

In the database, so that it holds whoever edits: two documents that differ never have one number.
At the end of the transaction, so that nobody holds the number while it waits for something else.
"""

from django.db import migrations

FORWARD = """
CREATE FUNCTION weir_documents_differ() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO executions_revision AS r (system_id, number)
  SELECT s.id, 1 FROM systems_system s
  WHERE s.id = (to_jsonb(NEW) ->> TG_ARGV[0])::bigint
  ON CONFLICT (system_id) DO UPDATE SET number = r.number + 1;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER documents_follow_model AFTER UPDATE OF model_version ON systems_system
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.model_version <> NEW.model_version)
  EXECUTE FUNCTION weir_documents_differ('id');
CREATE CONSTRAINT TRIGGER documents_follow_agent AFTER UPDATE OF address, revoked_at
  ON telemetry_agent DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (OLD.address <> NEW.address OR OLD.revoked_at IS DISTINCT FROM NEW.revoked_at)
  EXECUTE FUNCTION weir_documents_differ('system_id');
"""
BACKWARD = """
DROP TRIGGER documents_follow_agent ON telemetry_agent;
DROP TRIGGER documents_follow_model ON systems_system;
DROP FUNCTION weir_documents_differ();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("executions", "0005_asked_number"),
        ("systems", "0002_one_system"),
        ("telemetry", "0004_document_numbers"),
    ]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
