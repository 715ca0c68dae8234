from django.apps import AppConfig


class TopologyConfig(AppConfig):
    """Brokers, links, overlays and goal topologies."""

    name = "apps.topology"
