"""Plan the steps from what is in force to an allocation: first all reductions, then all
increases.

After the first step every rate and limit is the smaller of before and after, so each state on
the way loads every broker and link at most as much as the allocation does, or as much as
was in force already.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from apps.allocations.domain.effects import Effects
from apps.allocations.domain.proposal import Proposal, Setting
from apps.plans.domain.structure import arranged
from weir.actions import SettingKey
from weir.model.plan import Action, Step, Value

SAME = 1e-6
"""A rate or burst with a smaller relative change stays as it is."""
WORTH_GIVING = 1e-3
"""A smaller relative rise is not worth an action; a fall is, because it may keep a broker within
its bounds."""


def plan_steps(proposal: Proposal) -> tuple[Step, ...]:
    """Return at most two steps for rates and limits, and two between them where flows or classes
    change; none where everything is in force already."""
    effects = Effects(proposal)
    actions = [
        action
        for key in sorted({*proposal.wanted, *proposal.in_force})
        if (action := _action(proposal, key)) is not None
    ]
    described = [
        Action(
            kind=action.kind,
            target=action.target,
            before=action.before,
            after=action.after,
            effect=effects.of(action),
        )
        for action in actions
    ]
    return arranged(proposal.structure, described)


def _action(proposal: Proposal, key: SettingKey) -> Action | None:
    wanted: Setting | None = proposal.wanted.get(key)
    before: Value | None = proposal.in_force.get(key)
    if wanted is None:
        # The model no longer has this there: remove the setting in force.
        target: Mapping[str, str] = json.loads(key[1])
        return Action(kind=key[0], target=target, before=before, after=None)
    if before is not None and _same(before, wanted.value):
        return None
    return Action(kind=wanted.kind, target=wanted.target, before=before, after=wanted.value)


def _same(before: Value, after: Value) -> bool:
    return before.keys() == after.keys() and all(
        _stays(before[name], after[name]) if name != "limit" else before[name] == after[name]
        for name in after
    )


def _stays(before: float, after: float) -> bool:
    rise = WORTH_GIVING if after > before else SAME
    return math.isclose(before, after, rel_tol=rise, abs_tol=0.0)
