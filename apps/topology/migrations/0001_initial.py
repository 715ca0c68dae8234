"""Create brokers, links and overlays, whose edges form trees, checked when a transaction ends, and
join brokers of their own system."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

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

CREATE TRIGGER link_stays_in_its_system BEFORE INSERT OR UPDATE ON topology_link FOR EACH ROW
    EXECUTE FUNCTION weir_same_system('self', '', 'source_id', 'topology_broker', 'target_id', 'topology_broker');
CREATE TRIGGER overlay_edge_stays_in_its_system BEFORE INSERT OR UPDATE ON topology_overlayedge FOR EACH ROW
    EXECUTE FUNCTION weir_same_system(
        'overlay_id', 'topology_overlay', 'a_id', 'topology_broker', 'b_id', 'topology_broker');

-- An edge that moved to another overlay would leave pieces behind that nobody checks.
CREATE FUNCTION weir_overlay_edge_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'an edge stays in its overlay'
        USING ERRCODE = 'check_violation', CONSTRAINT = 'overlay_edge_stays';
END $$;
CREATE TRIGGER overlay_edge_stays BEFORE UPDATE OF overlay_id ON topology_overlayedge FOR EACH ROW
    WHEN (OLD.overlay_id <> NEW.overlay_id) EXECUTE FUNCTION weir_overlay_edge_stays();
"""
BACKWARD = """
DROP TRIGGER overlay_edge_stays ON topology_overlayedge;
DROP FUNCTION weir_overlay_edge_stays();
DROP TRIGGER link_stays_in_its_system ON topology_link;
DROP TRIGGER overlay_edge_stays_in_its_system ON topology_overlayedge;
DROP TRIGGER overlay_is_a_tree ON topology_overlayedge;
DROP FUNCTION weir_overlay_is_tree();
"""


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("topology", "0001_brokers"),
        ("topology", "0002_links"),
        ("topology", "0003_overlays"),
        ("topology", "0004_overlays_are_trees"),
        ("topology", "0005_one_system"),
        ("topology", "0006_overlay_edges_stay"),
    ]

    dependencies = [
        ("systems", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Broker",
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
                (
                    "system",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, to="systems.system"
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        help_text="Unique within its kind; letters, digits and . _ - / are safe everywhere.",
                        max_length=200,
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
                ("region", models.CharField(blank=True, max_length=100)),
                (
                    "map_x",
                    models.FloatField(blank=True, help_text="Place on the map, 0 to 1.", null=True),
                ),
                (
                    "map_y",
                    models.FloatField(blank=True, help_text="Place on the map, 0 to 1.", null=True),
                ),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("system", "name"), name="broker_name_once_per_system"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name", ""), _negated=True), name="broker_name_given"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="BrokerCapacity",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "broker",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="capacities",
                        to="topology.broker",
                    ),
                ),
                ("resource", models.CharField(max_length=32)),
                ("capacity", models.FloatField()),
            ],
            options={
                "ordering": ["resource"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("broker", "resource"), name="broker_capacity_once_per_resource"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("capacity__gte", 0), ("capacity__lt", float("inf"))),
                        name="broker_capacity_finite_not_negative",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Link",
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
                (
                    "system",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, to="systems.system"
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        help_text="Unique within its kind; letters, digits and . _ - / are safe everywhere.",
                        max_length=200,
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
                (
                    "source",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="links_out",
                        to="topology.broker",
                    ),
                ),
                (
                    "target",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="links_in",
                        to="topology.broker",
                    ),
                ),
                (
                    "capacity",
                    models.FloatField(
                        help_text="Link units per second; a flow costs its link cost x rate."
                    ),
                ),
                ("latency_s", models.FloatField(blank=True, null=True)),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("system", "name"), name="link_name_once_per_system"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name", ""), _negated=True), name="link_name_given"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("source", models.F("target")), _negated=True),
                        name="link_joins_two_brokers",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("capacity__gte", 0), ("capacity__lt", float("inf"))),
                        name="link_capacity_finite_not_negative",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("latency_s", None),
                            models.Q(("latency_s__gte", 0), ("latency_s__lt", float("inf"))),
                            _connector="OR",
                        ),
                        name="link_latency_finite_not_negative",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Overlay",
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
                (
                    "system",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, to="systems.system"
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        help_text="Unique within its kind; letters, digits and . _ - / are safe everywhere.",
                        max_length=200,
                    ),
                ),
                ("version", models.PositiveIntegerField(default=1, editable=False)),
                (
                    "purpose",
                    models.CharField(
                        choices=[("overlay", "Overlay"), ("goal", "Goal topology")],
                        default="overlay",
                        max_length=16,
                    ),
                ),
                ("in_force", models.BooleanField(default=False)),
                ("note", models.TextField(blank=True)),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("system", "name"), name="overlay_name_once_per_system"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name", ""), _negated=True), name="overlay_name_given"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("in_force", True)),
                        fields=("system",),
                        name="one_overlay_in_force",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("in_force", False), ("purpose", "overlay"), _connector="OR"
                        ),
                        name="goal_topology_is_not_in_force",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("purpose__in", ["overlay", "goal"])),
                        name="overlay_purpose_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="OverlayEdge",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "overlay",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="edges",
                        to="topology.overlay",
                    ),
                ),
                (
                    "a",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="topology.broker",
                    ),
                ),
                (
                    "b",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="topology.broker",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.UniqueConstraint(fields=("overlay", "a", "b"), name="overlay_edge_once"),
                    models.CheckConstraint(
                        condition=models.Q(("a", models.F("b")), _negated=True),
                        name="overlay_edge_joins_two_brokers",
                    ),
                ],
            },
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
