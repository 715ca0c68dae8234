"""Pin topics to streams and streams to groups; a pin too stays in its system."""

import django.db.models.deletion
from django.db import migrations, models

GROUP, STREAM = "catalog_group", "catalog_stream"
BEFORE = {
    "stream": ("self", "", "group_id", GROUP),
    "topic": ("self", "", "source_id", "topology_broker", "stream_id", STREAM),
}
AFTER = {
    "stream": (*BEFORE["stream"], "pinned_group_id", GROUP),
    "topic": (*BEFORE["topic"], "pinned_stream_id", STREAM),
}


def _trigger(table: str, arguments: tuple[str, ...]) -> str:
    listed = ", ".join(f"'{argument}'" for argument in arguments)
    name = f"{table}_stays_in_its_system"
    return (
        f"DROP TRIGGER {name} ON catalog_{table};"
        f"CREATE TRIGGER {name} BEFORE INSERT OR UPDATE ON catalog_{table} "
        f"FOR EACH ROW EXECUTE FUNCTION weir_same_system({listed});"
    )


class Migration(migrations.Migration):
    dependencies = [
        ("catalog", "0004_recorded_bucket"),
    ]

    operations = [
        migrations.AddField(
            model_name="stream",
            name="pinned_group",
            field=models.ForeignKey(
                blank=True,
                help_text="The group that mappings leave it in, or bring it to; null: any.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="catalog.group",
            ),
        ),
        migrations.AddField(
            model_name="topic",
            name="pinned_stream",
            field=models.ForeignKey(
                blank=True,
                help_text="The stream that mappings leave it in, or bring it to; null: any.",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="catalog.stream",
            ),
        ),
        *(
            migrations.RunSQL(_trigger(table, AFTER[table]), _trigger(table, BEFORE[table]))
            for table in BEFORE
        ),
    ]
