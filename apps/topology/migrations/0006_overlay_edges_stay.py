"""Forbid moving an edge to another overlay: it would leave pieces behind that nobody checks."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION weir_overlay_edge_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'an edge stays in its overlay'
        USING ERRCODE = 'check_violation', CONSTRAINT = 'overlay_edge_stays';
END $$;
CREATE TRIGGER overlay_edge_stays BEFORE UPDATE OF overlay_id ON topology_overlayedge FOR EACH ROW
    WHEN (OLD.overlay_id <> NEW.overlay_id) EXECUTE FUNCTION weir_overlay_edge_stays();
"""
BACKWARD = (
    "DROP TRIGGER overlay_edge_stays ON topology_overlayedge; "
    "DROP FUNCTION weir_overlay_edge_stays();"
)


class Migration(migrations.Migration):
    dependencies = [("topology", "0005_one_system")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
