"""Require that objects which refer to each other belong to one system; later migrations put the
trigger on their tables."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION weir_same_system() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    line jsonb := to_jsonb(NEW);
    own bigint;
    other bigint;
    i int := 2;
BEGIN
    IF TG_ARGV[0] = 'self' THEN
        own := (line ->> 'system_id')::bigint;
    ELSE
        EXECUTE format('SELECT system_id FROM %I WHERE id = $1', TG_ARGV[1])
            INTO own USING (line ->> TG_ARGV[0])::bigint;
    END IF;
    WHILE i < TG_NARGS LOOP
        IF line ->> TG_ARGV[i] IS NOT NULL THEN
            EXECUTE format('SELECT system_id FROM %I WHERE id = $1', TG_ARGV[i + 1])
                INTO other USING (line ->> TG_ARGV[i])::bigint;
            IF other IS DISTINCT FROM own THEN
                RAISE EXCEPTION '% refers to another system', TG_ARGV[i]
                    USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME;
            END IF;
        END IF;
        i := i + 2;
    END LOOP;
    RETURN NEW;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("systems", "0001_systems")]
    operations = [migrations.RunSQL(FORWARD, "DROP FUNCTION weir_same_system();")]
