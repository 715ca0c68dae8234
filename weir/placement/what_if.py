"""A placement problem with changes: what if the topic sent more, or there were one more broker."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from weir.errors import InvalidProblem
from weir.model.placement import NOWHERE, BrokerRoom
from weir.placement._prediction import as_bursty_as
from weir.placement.profiling import fitted

if TYPE_CHECKING:
    from weir.model.placement import PlacementProblem, Publishers


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """What is changed of a problem; None leaves it as it is."""

    rate_per_s: float | None = None
    """Of the topic; every publisher sends as many times more."""
    token_rate_per_s: float | None = None
    bucket: float | None = None
    batch: int | None = None
    group_size: int | None = None
    """Publishers that send together; whoever has a group is divided into groups of that size."""
    slo_p99_s: float | None = None
    slo_mean_s: float | None = None
    drained: tuple[str, ...] | None = None
    """The brokers that take nobody, instead of those of the problem."""
    added_brokers: int = 0
    """Empty brokers, each taking as much as the largest."""


def changed(problem: PlacementProblem, changes: WhatIf) -> PlacementProblem:
    """Return the problem with the changes. Raises InvalidProblem naming the member.

    What was measured was measured without the changes: the speeds that it shows are kept, and the
    delays are not.
    """
    if changes == WhatIf():
        return problem
    problem = replace(fitted(problem), measured={}, measured_of=None)
    contract = replace(
        problem.contract,
        **{
            name: value
            for name in ("token_rate_per_s", "bucket", "batch", "slo_p99_s", "slo_mean_s")
            if (value := getattr(changes, name)) is not None
        },
    )
    publishers = problem.publishers
    if changes.rate_per_s is not None:
        # The publishers may add up to less than the topic is said to send.
        factor = changes.rate_per_s / float(problem.loads().sum())
        publishers = replace(publishers, rates_per_s=problem.loads() * factor)
        contract = replace(contract, messages_per_s=changes.rate_per_s)
    if changes.group_size is not None:
        publishers = _regrouped(publishers, changes.group_size)
    return as_bursty_as(
        replace(
            problem, contract=contract, publishers=publishers, brokers=_brokers(problem, changes)
        ),
        problem,
    )


def _brokers(problem: PlacementProblem, changes: WhatIf) -> tuple[BrokerRoom, ...]:
    brokers = list(problem.brokers)
    if changes.drained is not None:
        pinned = set(problem.publishers.pinned.tolist())
        names = {broker.broker: at for at, broker in enumerate(brokers)}
        for name in changes.drained:
            if name not in names:
                raise InvalidProblem("drained", f"no broker {name}")
            if names[name] in pinned:
                raise InvalidProblem(
                    "drained", f"{name} has pinned publishers; unpin them, or drain another one"
                )
        brokers = [replace(each, drained=each.broker in changes.drained) for each in brokers]
    largest = max((broker.max_rate_per_s for broker in brokers), default=0.0)
    known = {broker.broker for broker in brokers}
    number = 0
    for _ in range(changes.added_brokers):
        number += 1
        while f"new-{number}" in known:
            number += 1
        brokers.append(
            BrokerRoom(broker=f"new-{number}", max_rate_per_s=largest, allocated_rate_per_s=0.0)
        )
    return tuple(brokers)


def _regrouped(publishers: Publishers, size: int) -> Publishers:
    """Return the publishers with groups of this size; one alone is no group."""
    if size < 1:
        raise InvalidProblem("group_size", "must be at least 1")
    grouped = np.flatnonzero(publishers.groups != NOWHERE)
    groups = publishers.groups.copy()
    groups[grouped] = NOWHERE if size == 1 else np.arange(len(grouped)) // size
    count = int(groups.max(initial=NOWHERE)) + 1
    width = len(str(count))
    names = tuple(f"group {at + 1:0{width}}" for at in range(count))
    return replace(publishers, groups=groups, group_names=names)
