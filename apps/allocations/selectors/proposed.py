"""Read what a proposal is made of: the allocation, the model, what is in force and measured."""

from collections import defaultdict

from django.utils import timezone

from apps.allocations.domain.judgement import past_of
from apps.allocations.domain.proposal import LIMIT, RATE, Proposal, Scarce
from apps.allocations.domain.worth import Functions, functions_of
from apps.allocations.models import Allocation, Place
from apps.allocations.selectors.in_force import latest_allocation, latest_plan
from apps.allocations.selectors.problems import routed_problem, snapshot_plain
from apps.catalog.models import Topic
from apps.executions.models import Setting
from apps.executions.selectors import in_force
from apps.executions.selectors.modelled import FLOW, asked_by_model
from apps.plans.domain.structure import difference
from apps.systems.models import System
from apps.telemetry.selectors import latest_samples
from weir.actions import target_of


def proposal_of(allocation: Allocation, system: System) -> Proposal:
    """Return the allocation beside what is in force now. Call it under the system's row lock."""
    topics = Topic.objects.filter(system=system).select_related("source")
    offered: dict[str, float] = defaultdict(float)
    for sample in latest_samples(system):
        for flow, measured in sample.payload.get("flows", {}).items():
            offered[flow] += float(measured.get("offered_per_s") or 0.0)
    loads = list(allocation.loads.all())
    settings = in_force(system).settings
    now = timezone.now()
    plan = latest_plan(system)
    running = latest_allocation(plan) if plan else None
    return Proposal(
        name=str(allocation),
        problem=routed_problem(allocation.run),
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
            for row in loads
        ),
        prices={
            (row.name, row.resource) if row.place == Place.NODE else ("", row.name): row.price
            for row in loads
        },
        sources={topic.name: topic.source.name if topic.source else None for topic in topics},
        buckets={topic.name: topic.token_bucket for topic in topics},
        in_force={key: value for key, value in settings.items() if key[0] in (RATE, LIMIT)},
        ingresses={
            target_of(key)["flow"]: value["broker"]
            for key, value in settings.items()
            if key[0] == FLOW and value["broker"]
        },
        structure=difference(asked_by_model(system), settings),
        pasts={
            (row.kind, row.target_key): past_of(
                row.kind,
                row.in_force,
                row.previous,
                (now - row.changed_at).total_seconds() if row.changed_at else None,
            )
            for row in Setting.objects.filter(
                system=system, kind__in=(RATE, LIMIT), changed_at__isnull=False
            )
        },
        offered=dict(offered),
        former=_former(allocation, running),
        former_name=str(running or ""),
    )


def _former(allocation: Allocation, running: Allocation | None) -> Functions | None:
    """Return the utility functions of the allocation in force, where they differ from this
    one's."""
    if running is None or (
        running.run.snapshot.content_hash == allocation.run.snapshot.content_hash
    ):
        return None
    before, after = snapshot_plain(running.run), snapshot_plain(allocation.run)
    if before is None or after is None:
        return None
    former = functions_of(before)
    return None if former == functions_of(after) else former
