"""Delete settings of topics, classes and brokers that were renamed or deleted before 0003."""

from django.db import migrations

ORPHANS = """
DELETE FROM executions_setting s WHERE NOT EXISTS (
  SELECT FROM topology_broker b WHERE b.system_id = s.system_id AND b.name = s.target->>'broker'
) OR (s.target ? 'flow' AND NOT EXISTS (
  SELECT FROM catalog_topic t WHERE t.system_id = s.system_id AND t.name = s.target->>'flow'
)) OR (s.target ? 'class' AND NOT EXISTS (
  SELECT FROM catalog_consumerclass c WHERE c.system_id = s.system_id AND c.name = s.target->>'class'
));
"""


class Migration(migrations.Migration):
    dependencies = [("executions", "0003_settings_follow_names")]
    operations = [migrations.RunSQL(ORPHANS, migrations.RunSQL.noop)]
