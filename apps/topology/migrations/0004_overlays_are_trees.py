"""Require that the edges of an overlay form one tree; checked when the transaction ends."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION weir_overlay_is_tree() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    overlay bigint := CASE WHEN TG_OP = 'DELETE' THEN OLD.overlay_id ELSE NEW.overlay_id END;
    edges bigint;
    brokers bigint;
    reached bigint;
BEGIN
    -- Every inserted row queues this check; the newest one speaks for all of them.
    IF TG_OP = 'INSERT' AND EXISTS (
        SELECT 1 FROM topology_overlayedge WHERE overlay_id = overlay AND id > NEW.id
    ) THEN
        RETURN NULL;
    END IF;
    SELECT count(*) INTO edges FROM topology_overlayedge WHERE overlay_id = overlay;
    IF edges = 0 THEN
        RETURN NULL;
    END IF;
    WITH ends AS (
        SELECT a_id AS x, b_id AS y FROM topology_overlayedge WHERE overlay_id = overlay
        UNION ALL SELECT b_id, a_id FROM topology_overlayedge WHERE overlay_id = overlay
    ) SELECT count(DISTINCT x) INTO brokers FROM ends;
    IF edges <> brokers - 1 THEN
        RAISE EXCEPTION 'not a tree: % edges over % brokers; a tree has one edge fewer than brokers', edges, brokers
            USING ERRCODE = 'check_violation', CONSTRAINT = 'overlay_is_a_tree';
    END IF;
    WITH RECURSIVE ends AS (
        SELECT a_id AS x, b_id AS y FROM topology_overlayedge WHERE overlay_id = overlay
        UNION ALL SELECT b_id, a_id FROM topology_overlayedge WHERE overlay_id = overlay
    ), seen AS (
        (SELECT x FROM ends LIMIT 1) UNION SELECT ends.y FROM ends JOIN seen ON ends.x = seen.x
    ) SELECT count(*) INTO reached FROM seen;
    IF reached <> brokers THEN
        RAISE EXCEPTION 'not a tree: % of % brokers are cut off from the others', brokers - reached, brokers
            USING ERRCODE = 'check_violation', CONSTRAINT = 'overlay_is_a_tree';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER overlay_is_a_tree
    AFTER INSERT OR UPDATE OR DELETE ON topology_overlayedge
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION weir_overlay_is_tree();
"""
BACKWARD = (
    "DROP TRIGGER overlay_is_a_tree ON topology_overlayedge; DROP FUNCTION weir_overlay_is_tree();"
)


class Migration(migrations.Migration):
    dependencies = [("topology", "0003_overlays")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
