"""Read who stopped the order in force to adapt parts; only an app above this one knows it."""

from typing import Protocol

from django.apps import apps
from django.utils.module_loading import import_string

from apps.systems.models import System


class Stop(Protocol):
    """Describe the stop of an order."""

    stopped_by_name: str


class Order(Protocol):
    """Describe an order in force, as the app that carries it out reads it."""

    @property
    def stop(self) -> Stop | None:
        """Return by whom it was stopped; None: by nobody."""


def stopped_by(system: System, flow: str) -> str:
    """Return who stopped the order in force for the parts of the flow; empty where nobody did.

    An `AppConfig` names the function that knows the order, of system and flow:
    `adapts_parts = "apps.adaptation.selectors.orders.order_in_force"`.
    """
    for config in apps.get_app_configs():
        path: str = getattr(config, "adapts_parts", "")
        order: Order | None = import_string(path)(system, flow) if path else None
        if order is not None and order.stop is not None:
            return order.stop.stopped_by_name
    return ""
