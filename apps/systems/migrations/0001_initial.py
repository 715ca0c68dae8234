"""Create systems, and the trigger by which tables of other apps require that objects which refer to
each other belong to one system."""

import uuid

import django.contrib.postgres.fields
from django.db import migrations, models

import apps.systems.models

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
BACKWARD = "DROP FUNCTION weir_same_system();"


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("systems", "0001_systems"),
        ("systems", "0002_one_system"),
        ("systems", "0003_unmanaged_clients"),
        ("systems", "0004_retention"),
    ]

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="System",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("public_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                ("name", models.CharField(max_length=100, unique=True)),
                ("description", models.TextField(blank=True)),
                (
                    "product",
                    models.CharField(
                        choices=[
                            ("simulated", "Simulated"),
                            ("nats", "NATS"),
                            ("kafka", "Kafka"),
                            ("rabbitmq", "RabbitMQ"),
                            ("mqtt", "MQTT"),
                        ],
                        default="simulated",
                        max_length=16,
                    ),
                ),
                (
                    "resources",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=32),
                        default=apps.systems.models.default_resources,
                        size=8,
                    ),
                ),
                ("model_version", models.PositiveIntegerField(default=1, editable=False)),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
                (
                    "unmanaged",
                    models.CharField(
                        choices=[
                            ("refuse", "Refuse"),
                            ("report", "Let in, and report"),
                            ("allow", "Let in"),
                        ],
                        default="refuse",
                        editable=False,
                        max_length=8,
                    ),
                ),
                ("access_version", models.PositiveIntegerField(default=0, editable=False)),
                (
                    "retention_s",
                    models.PositiveIntegerField(
                        default=3600,
                        editable=False,
                        help_text="For how long brokers keep delivered reliable messages, s.",
                    ),
                ),
                ("retention_version", models.PositiveIntegerField(default=0, editable=False)),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("retention_s__gte", 120), ("retention_s__lte", 2592000)
                        ),
                        name="system_retention_in_bounds",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name", ""), _negated=True), name="system_name_given"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("product__in", ["simulated", "nats", "kafka", "rabbitmq", "mqtt"])
                        ),
                        name="system_product_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("resources__len__gte", 1)), name="system_has_a_resource"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("unmanaged__in", ["refuse", "report", "allow"])),
                        name="system_unmanaged_known",
                    ),
                ],
            },
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
