"""Require that the catalog's rows refer to objects of their own system only."""

from django.db import migrations

BROKER, TOPIC = "topology_broker", "catalog_topic"
REFERENCES = {
    "stream": ("self", "", "group_id", "catalog_group"),
    "topic": ("self", "", "source_id", BROKER, "stream_id", "catalog_stream"),
    "topicnodecost": ("topic_id", TOPIC, "broker_id", BROKER),
    "topiclinkcost": ("topic_id", TOPIC, "link_id", "topology_link"),
    "publisher": (
        *("self", "", "topic_id", TOPIC, "broker_id", BROKER),
        *("correlation_key_id", "catalog_correlationkey"),
    ),
    "consumerclass": (
        *("self", "", "topic_id", TOPIC, "broker_id", BROKER),
        *("utility_id", "catalog_utilityfunction"),
    ),
    "slo": ("self", "", "topic_id", TOPIC),
    "subscriber": ("self", "", "broker_id", BROKER),
    "interest": ("subscriber_id", "catalog_subscriber", "topic_id", TOPIC),
}


def _create(table: str, arguments: tuple[str, ...]) -> migrations.RunSQL:
    listed = ", ".join(f"'{argument}'" for argument in arguments)
    name = f"{table}_stays_in_its_system"
    return migrations.RunSQL(
        f"CREATE TRIGGER {name} BEFORE INSERT OR UPDATE ON catalog_{table} "
        f"FOR EACH ROW EXECUTE FUNCTION weir_same_system({listed});",
        f"DROP TRIGGER {name} ON catalog_{table};",
    )


class Migration(migrations.Migration):
    dependencies = [("catalog", "0007_interests"), ("systems", "0002_one_system")]
    operations = [_create(table, arguments) for table, arguments in REFERENCES.items()]
