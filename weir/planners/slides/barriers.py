"""What proves that no plan exists: goal paths that cross what nothing can change.

The goals that cross a link change only when the link moves or another slides over it. At a broker
that takes part in nothing (frozen, or with as many links as it may have, all of which stay) neither
can happen. So a missing goal link whose path crosses such a broker's link is never made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from weir.model.transformation import Transformation
    from weir.planners.slides.arrays import Arrays


def why_impossible(problem: Transformation, arrays: Arrays) -> str:
    """Say in a sentence why no plan exists; empty where no proof was found."""
    options = problem.options
    for a, b in sorted(options.frozen_links & problem.initial - problem.goal):
        return f"link {a}-{b} is frozen and not in the goal; thaw it or keep it in the goal"
    for broker in sorted(options.frozen_brokers & (problem.added | problem.removed)):
        return f"{broker} is frozen and comes or goes; thaw it or leave it where it is"
    if not arrays.locked.any():
        return ""
    state = arrays.state(backwards=False)
    names = arrays.names.names
    for v in np.flatnonzero(arrays.before >= 0).tolist():
        up = int(arrays.before[v])
        if not (arrays.locked[v] or arrays.locked[up]) or not state.crossing[v].any():
            continue
        word = int(np.flatnonzero(state.crossing[v])[0])
        bits = int(state.crossing[v, word])
        bit = 64 * word + (bits & -bits).bit_length() - 1
        a, b = (names[at] for at in state.ends[bit])
        held = names[v if arrays.locked[v] else up]
        why = "is frozen" if held in options.frozen_brokers else "has no room and no link to give"
        return (
            f"the goal's link {a}-{b} would have to pass {names[v]}-{names[up]}, but {held} {why}; "
            f"{'thaw it' if 'frozen' in why else 'allow more links per broker'} or change the goal"
        )
    return ""
