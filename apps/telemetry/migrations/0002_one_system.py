"""Require that an agent runs beside a broker of its own system."""

from django.db import migrations

FORWARD = """
CREATE TRIGGER agent_stays_in_its_system BEFORE INSERT OR UPDATE ON telemetry_agent FOR EACH ROW
    EXECUTE FUNCTION weir_same_system('self', '', 'broker_id', 'topology_broker');
"""
BACKWARD = "DROP TRIGGER agent_stays_in_its_system ON telemetry_agent;"


class Migration(migrations.Migration):
    dependencies = [
        ("telemetry", "0001_agents_and_samples"),
        ("topology", "0006_overlay_edges_stay"),
    ]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
