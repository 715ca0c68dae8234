"""Find the silent brokers of an overlay, and whether a plan may remove them."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.utils import timezone

from apps.executions.selectors import edges_in_force
from apps.policies.selectors import terms_for
from apps.systems.models import System
from apps.telemetry.selectors.silence import held_last, silences
from apps.topology.models import Broker


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """Describe a silent broker of the overlay in force."""

    broker: UUID
    broker_name: str
    silent_since: datetime
    silent_s: float
    remove_after_s: float
    removable: bool
    held: str


def repairs(system: System) -> list[Repair]:
    """Return the silent brokers, longest silent first."""
    members = {name for pair in edges_in_force(system) for name in pair}
    least_s = float(terms_for(system).remove_after_s)
    silent = {
        row.broker: row
        for row in silences(system, timezone.now())
        if row.broker in members and row.seconds > 0
    }
    rows = [
        Repair(
            broker=broker.public_id,
            broker_name=broker.name,
            silent_since=silent[broker.name].since,
            silent_s=silent[broker.name].seconds,
            remove_after_s=least_s,
            removable=silent[broker.name].seconds >= least_s,
            held=held_last(broker).sentence,
        )
        for broker in Broker.objects.filter(system=system, name__in=silent)
    ]
    return sorted(rows, key=lambda row: row.silent_since)
