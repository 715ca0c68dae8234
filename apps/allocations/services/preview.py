"""Compute at once what edited utility functions would change, and store nothing.

The model is solved twice by the same method from the prices of the last allocation, without and
with the draft, so that the draft causes every difference, not the method or the model.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from apps.allocations.domain.worth import functions_of, worth
from apps.allocations.models import Allocation
from apps.allocations.services import DEFAULT_METHOD
from apps.calibration.selectors import calibrated_problem
from apps.catalog.domain.curves import field_of
from apps.catalog.models import ConsumerClass, Topic, UtilityFunction
from apps.common.computing import Queue, turn
from apps.common.errors import ApplicationError
from apps.systems.models import System
from weir.codec import problem_from_dict, result_from_dict, start_of
from weir.errors import InvalidProblem
from weir.model import Result, Start
from weir.optimizers import method
from weir.stop import time_limit
from weir.utility import utility_from_dict

MOST_ROWS = 5000
"""The number of classes and topics that can be computed in time; larger models need a run."""

SOLVE_S = 0.45
"""The time limit of each of the two solutions: the page waits about a second."""

NOISE = 5e-4
"""Smaller relative changes of rates and prices are rounding of the method."""

MOST_CHANGES = 40

PREVIEWS = Queue("Another preview is being computed. Try again in a second.")

Drafts = Mapping[UUID, Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewChange:
    """Hold one quantity without and with the draft."""

    kind: str
    """The kind: `rate` (msg/s), `admitted`, `node_price` or `link_price` (utility per unit)."""
    name: str
    detail: str = ""
    """The resource of a node price; the flow of a class."""
    before: float
    after: float
    of_draft: bool
    """Whether it belongs to consumers or topics of the draft."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """Hold the two solutions side by side; `changes` holds the largest."""

    status: str
    """The status: `solved`, `time_limit` (the best so far) or `infeasible`."""
    reason: str
    method: str
    model_version: int
    start: Allocation | None
    """The allocation whose prices the computation began with."""
    utility_before: float
    """The present utility by the draft's utility functions, to compare with `utility_after`."""
    utility_after: float
    saved_utility_before: float
    """The present utility by the saved utility functions, to compare with `saved_utility_after`."""
    saved_utility_after: float
    admitted_before: int
    admitted_after: int
    changes: list[PreviewChange]
    changes_in_all: int
    runtime_s: float


def utilities_preview(*, system: System, drafts: Drafts) -> Preview:
    """Compute a preview. Raises ApplicationError for an invalid draft, a model too large, or when
    busy."""
    names = _checked(system, drafts)
    rows = (
        ConsumerClass.objects.filter(system=system).count()
        + Topic.objects.filter(system=system).count()
    )
    if rows > MOST_ROWS:
        raise ApplicationError(
            "too_large_for_preview",
            f"{system} has {rows:,} topics and consumer classes; a preview is computed up to "
            f"{MOST_ROWS:,}. Save the draft and optimize to see what changes.",
            status=409,
        )
    if rows == 0:
        raise ApplicationError(
            "nothing_to_optimize", f"{system} has no topics yet; nothing changes.", status=409
        )
    with turn(PREVIEWS):
        return _computed(system, drafts, names)


def _checked(system: System, drafts: Drafts) -> dict[UUID, str]:
    """Return the name of every utility function that is drafted."""
    known = dict(
        UtilityFunction.objects.filter(system=system, public_id__in=list(drafts)).values_list(
            "public_id", "name"
        )
    )
    for public_id, draft in drafts.items():
        path = f"utilities.{public_id}"
        if public_id not in known:
            message = "No utility function of this system."
            raise ApplicationError.of_field(path, message, detail=message)
        try:
            utility_from_dict({"kind": draft["kind"], **draft["parameters"]}, "")
        except InvalidProblem as error:
            raise ApplicationError.of_field(
                f"{path}.{field_of(error)}",
                error.message,
                detail=f"{known[public_id]}: {error.message}",
            ) from error
    return known


def _computed(system: System, drafts: Drafts, names: Mapping[UUID, str]) -> Preview:
    began_s = time.monotonic()
    plain = calibrated_problem(system)
    owner = dict(
        ConsumerClass.objects.filter(system=system, utility__public_id__in=list(names)).values_list(
            "name", "utility__public_id"
        )
    )
    drafted = {
        **plain,
        "classes": [
            {**row, "utility": _plain_utility(drafts[owner[row["id"]]])}
            if row["id"] in owner
            else row
            for row in plain["classes"]
        ],
    }
    start_at, start = _start(system)
    before, after = _solved(plain, start), _solved(drafted, start)
    changes = _changes(before, after, plain, set(owner))
    infeasible = after.status == "infeasible"
    return Preview(
        status=after.status if "time_limit" not in (before.status, after.status) else "time_limit",
        reason=after.reason,
        method=after.method,
        model_version=system.model_version,
        start=start_at,
        utility_before=worth(functions_of(drafted), before.rates, before.populations),
        utility_after=after.utility,
        saved_utility_before=before.utility,
        saved_utility_after=worth(functions_of(plain), after.rates, after.populations),
        admitted_before=sum(before.populations.values()),
        admitted_after=sum(after.populations.values()),
        changes=[] if infeasible else changes[:MOST_CHANGES],
        changes_in_all=0 if infeasible else len(changes),
        runtime_s=time.monotonic() - began_s,
    )


def _plain_utility(draft: Mapping[str, Any]) -> dict[str, Any]:
    return {"kind": draft["kind"], **draft["parameters"]}


def _start(system: System) -> tuple[Allocation | None, Start | None]:
    """Return the prices of the system's last allocation."""
    last = (
        Allocation.objects.filter(system=system)
        .select_related("run__result")
        .order_by("-number")
        .first()
    )
    if last is None or not hasattr(last.run, "result"):
        return None, None
    return last, start_of(result_from_dict(json.loads(bytes(last.run.result.payload))))


def _solved(plain: dict[str, Any], start: Start | None) -> Result:
    try:
        problem = problem_from_dict(plain)
    except InvalidProblem as error:
        raise ApplicationError("invalid_problem", str(error), status=422) from error
    optimizer = method(DEFAULT_METHOD)
    return optimizer.solve(
        problem,
        optimizer.Params(),
        stop=time_limit(SOLVE_S, time.monotonic),
        seed=0,
        start=start,
    )


def _changes(
    before: Result, after: Result, plain: Mapping[str, Any], own: set[str]
) -> list[PreviewChange]:
    flow_of = {row["id"]: row["flow"] for row in plain["classes"]}
    own_flows = {flow_of[name] for name in own}
    changes = [
        PreviewChange(
            kind="rate", name=name, before=old, after=after.rates[name], of_draft=name in own_flows
        )
        for name, old in before.rates.items()
        if name in after.rates and _differs(old, after.rates[name])
    ]
    changes += [
        PreviewChange(
            kind="admitted",
            name=name,
            detail=flow_of[name],
            before=old,
            after=after.populations[name],
            of_draft=name in own,
        )
        for name, old in before.populations.items()
        if name in after.populations and old != after.populations[name]
    ]
    changes += [
        PreviewChange(
            kind="node_price", name=node, detail=resource, before=old, after=new, of_draft=False
        )
        for node, prices in before.node_prices.items()
        for resource, old in prices.items()
        if _differs(old, new := after.node_prices.get(node, {}).get(resource, 0.0))
    ]
    changes += [
        PreviewChange(kind="link_price", name=link, before=old, after=new, of_draft=False)
        for link, old in before.link_prices.items()
        if _differs(old, new := after.link_prices.get(link, 0.0))
    ]
    return sorted(changes, key=_weight)


def _differs(old: float, new: float) -> bool:
    return abs(new - old) > NOISE * max(abs(old), abs(new))


def _weight(change: PreviewChange) -> tuple[bool, float, str, str]:
    """Sort the draft's own changes first, then by relative change."""
    largest = max(abs(change.before), abs(change.after))
    share = abs(change.after - change.before) / largest if largest > 0 else 0.0
    return (not change.of_draft, -share, change.kind, change.name)
