from django.apps import AppConfig


class TopologyConfig(AppConfig):
    """Manage brokers, links, overlays and goal topologies."""

    name = "apps.topology"
