"""Weir's own planner: slides chosen by the goal paths that share a link, re-planned in windows.

Assumptions: brokers that come are appended first, those that go detached last, unless a maximum
degree needs room in between; composites take the place of runs of slides where that is cheaper.
See docs/algorithms/edge-slides.md; the engine is `weir.planners.slides`.

Cost: the first plan O(slides x neighbours x goals / 64), a round a few milliseconds. Memory: a bit
per link and missing goal link, and some hundred bytes per slide.

References
----------
P. Salehi, K. Zhang, H.-A. Jacobsen: Incremental Topology Transformation for Publish/Subscribe
Systems Using Integer Programming. ICDCS 2017.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from weir.plugins import about, check_fields

if TYPE_CHECKING:
    from collections.abc import Callable

    from weir.model.transformation import Objective, Steps, Transformation, TransformationPlan
    from weir.planners import PlanProgress

NAME = "slides"
TITLE = "Edge slides (Weir)"
SUMMARY = "Plans 10,000 brokers in seconds; links hitch onto one another; better with more time."


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """How wide it looks and when it gives up."""

    window_brokers: int = field(
        default=24,
        metadata=about(help="Brokers of a window at most", unit="brokers", min=6, max=32),
    )
    patience: int = field(
        default=4000,
        metadata=about(
            help="Rounds without a better plan after which it ends by itself",
            unit="rounds",
            min=1,
        ),
    )

    def __post_init__(self) -> None:
        """Check the limits of every field; raise InvalidProblem that names the field."""
        check_fields(self)


def plan(
    problem: Transformation,
    params: Params,
    *,
    objective: Objective,
    stop: Callable[[PlanProgress], bool],
    seed: int,
    on_progress: Callable[[PlanProgress], None] | None = None,
    start: Steps | None = None,
) -> TransformationPlan:
    """Plan by slides of links, as `weir.planners.Planner` describes."""
    # numba is imported with the engine: whoever only lists planners need not wait for it
    from weir.planners.slides.search import Search

    return Search(
        problem,
        objective=objective,
        window_brokers=params.window_brokers,
        patience=params.patience,
        stop=stop,
        seed=seed,
        on_progress=on_progress,
        start=start,
        planner=NAME,
    ).run()
