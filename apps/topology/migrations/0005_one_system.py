"""Links and overlay edges join brokers of their own system."""

from django.db import migrations

FORWARD = """
CREATE TRIGGER link_stays_in_its_system BEFORE INSERT OR UPDATE ON topology_link FOR EACH ROW
    EXECUTE FUNCTION weir_same_system('self', '', 'source_id', 'topology_broker', 'target_id', 'topology_broker');
CREATE TRIGGER overlay_edge_stays_in_its_system BEFORE INSERT OR UPDATE ON topology_overlayedge FOR EACH ROW
    EXECUTE FUNCTION weir_same_system(
        'overlay_id', 'topology_overlay', 'a_id', 'topology_broker', 'b_id', 'topology_broker');
"""
BACKWARD = """
DROP TRIGGER link_stays_in_its_system ON topology_link;
DROP TRIGGER overlay_edge_stays_in_its_system ON topology_overlayedge;
"""


class Migration(migrations.Migration):
    dependencies = [("topology", "0004_overlays_are_trees"), ("systems", "0002_one_system")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
