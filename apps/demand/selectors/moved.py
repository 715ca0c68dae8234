"""Compare two estimates of the demand of a system: how much of it has moved."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from apps.demand.domain.wanted import Basis, Subject, change_text, moved_share
from apps.demand.models import DemandEstimate
from apps.demand.selectors.used import figures_of, typed_demand, used_demand
from apps.systems.models import Edition, System


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The part of the demand that differs, of the rates or of the consumers, whichever is more."""

    share: float
    example: str
    """What moved most."""


NOTHING = Moved(share=0.0, example="")


def estimates_in_use(systems: Iterable[int]) -> dict[int, DemandEstimate]:
    """Return the estimate that snapshots are made with now, by the key of the system; none of
    systems that take the model's figures."""
    last = DemandEstimate.objects.filter(system__in=set(systems)).order_by("system_id", "-number")
    return {
        one.system_id: one for one in last.distinct("system_id") if one.basis != Basis.TYPED.value
    }


@lru_cache(maxsize=64)
def moved_between(edition: Edition, before: int | None, after: int | None) -> Moved:
    """Return how far what snapshots of a model take is by one estimate from what they take by
    another, by their keys; None: the model's figures. Neither changes, so each pair is read
    once."""
    if before == after:
        return NOTHING
    typed = typed_demand(System.objects.get(public_id=edition[0]))
    estimates = DemandEstimate.objects.in_bulk([key for key in (before, after) if key])
    used = []
    for key in (before, after):
        estimate = estimates.get(key or 0)
        figures = figures_of(estimate) if estimate else {}
        used.append(used_demand(typed, figures, estimate.terms if estimate else None))
    largest = NOTHING
    for subject in Subject:
        pairs = [(key[1], used[0][key], used[1][key]) for key in typed if key[0] == subject]
        share = moved_share((one, other) for _, one, other in pairs)
        if share > largest.share:
            name, one, other = max(pairs, key=lambda pair: abs(pair[2] - pair[1]))
            largest = Moved(share=share, example=change_text(subject, name, one, other))
    return largest
