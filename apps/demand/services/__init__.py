"""Estimate demand, and change how it is used."""

from apps.demand.services.estimate import demand_tick
from apps.demand.services.settings import settings_for, settings_update

__all__ = ["demand_tick", "settings_for", "settings_update"]
