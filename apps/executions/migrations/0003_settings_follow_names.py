"""Keep a setting with its topic, class and broker when they are renamed or deleted.

Settings are kept by name, as brokers enforce them. In the database, so that it holds whoever edits
the model: a renamed class would else lose its limit at a live broker without anybody saying so.
"""

from django.db import migrations

# The key is `weir.actions.target_key` of the target: compact JSON with sorted keys.
FUNCTIONS = """
CREATE FUNCTION weir_target_key(target jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT '{' || string_agg(to_json(key)::text || ':' || to_json(value)::text, ','
                           ORDER BY key COLLATE "C") || '}'
  FROM jsonb_each_text(target)
$$;
CREATE FUNCTION weir_settings_follow() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE part text := TG_ARGV[0];
BEGIN
  IF TG_OP = 'DELETE' THEN
    DELETE FROM executions_setting s WHERE s.system_id = OLD.system_id AND s.target->>part = OLD.name;
    RETURN NULL;
  END IF;
  -- Names are unique, so whatever stands under the new one belongs to nothing.
  DELETE FROM executions_setting s WHERE s.system_id = OLD.system_id AND s.target->>part = NEW.name;
  UPDATE executions_setting s SET
    target = jsonb_set(s.target, ARRAY[part], to_jsonb(NEW.name::text)),
    target_key = weir_target_key(jsonb_set(s.target, ARRAY[part], to_jsonb(NEW.name::text)))
  WHERE s.system_id = OLD.system_id AND s.target->>part = OLD.name;
  RETURN NULL;
END $$;
"""
NO_FUNCTIONS = "DROP FUNCTION weir_settings_follow(); DROP FUNCTION weir_target_key(jsonb);"
PARTS = {"catalog_topic": "flow", "catalog_consumerclass": "class", "topology_broker": "broker"}


def _triggers(table: str, part: str) -> migrations.RunSQL:
    call = f"EXECUTE FUNCTION weir_settings_follow('{part}');"
    return migrations.RunSQL(
        f"CREATE TRIGGER settings_follow_name AFTER UPDATE OF name ON {table} "
        f"FOR EACH ROW WHEN (OLD.name <> NEW.name) {call} "
        f"CREATE TRIGGER settings_go_with_it AFTER DELETE ON {table} FOR EACH ROW {call}",
        f"DROP TRIGGER settings_go_with_it ON {table}; DROP TRIGGER settings_follow_name ON {table};",
    )


class Migration(migrations.Migration):
    dependencies = [
        ("executions", "0002_setting_remembers"),
        ("catalog", "0008_one_system"),
        ("topology", "0001_brokers"),
    ]
    operations = [
        migrations.RunSQL(FUNCTIONS, NO_FUNCTIONS),
        *(_triggers(table, part) for table, part in PARTS.items()),
    ]
