"""Reads what a proposal is made of: the allocation, the model, what is in force and measured."""

from collections import defaultdict

from apps.allocations.models import Allocation, Place
from apps.allocations.planning.proposal import Proposal, Scarce
from apps.catalog.models import Topic
from apps.executions.selectors import in_force
from apps.systems.models import System
from apps.telemetry.selectors import latest_samples
from weir.codec import problem_from_json


def proposal_of(allocation: Allocation, system: System) -> Proposal:
    """The allocation beside what is in force now. Read under the system's row lock."""
    topics = Topic.objects.filter(system=system).select_related("source")
    offered: dict[str, float] = defaultdict(float)
    for sample in latest_samples(system):
        for flow, measured in sample.payload.get("flows", {}).items():
            offered[flow] += float(measured.get("offered_per_s") or 0.0)
    return Proposal(
        name=str(allocation),
        problem=problem_from_json(bytes(allocation.run.snapshot.payload)),
        rates={row.flow: row.rate_per_s for row in allocation.rates.all()},
        populations={row.consumer_class: row.admitted for row in allocation.populations.all()},
        utility=allocation.utility,
        resources=tuple(
            Scarce(
                name=f"{row.resource} of {row.name}"
                if row.place == Place.NODE
                else f"link {row.name}",
                load=row.load,
                capacity=row.capacity,
                price=row.price,
            )
            for row in allocation.loads.all()
        ),
        sources={topic.name: topic.source.name if topic.source else None for topic in topics},
        buckets={topic.name: topic.token_bucket for topic in topics},
        in_force=in_force(system).settings,
        offered=dict(offered),
    )
