"""Define and check the parameters of LRGP, and derive the step rules of its prices."""

from __future__ import annotations

from dataclasses import dataclass, field

from weir.errors import InvalidProblem
from weir.optimizers.lrgp.prices import StepRule
from weir.plugins import about, check_fields

ASYNCHRONOUS_WINDOW = 3
"""Rates and prices averaged by default when they arrive late (the paper: "the last few")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Defaults are the paper's where it gives one."""

    max_iterations: int = field(
        default=250, metadata=about(help="Iterations at most", min=1, max=1_000_000)
    )
    patience: int = field(
        default=100,
        metadata=about(
            help="Stop once settled and this many iterations brought nothing better",
            unit="iterations",
            min=1,
            max=1_000_000,
        ),
    )
    settle_window: int = field(
        default=5,
        metadata=about(
            help="Settled: the utility of so many iterations stays within the tolerance",
            unit="iterations",
            min=2,
            max=1000,
        ),
    )
    settle_tolerance: float = field(
        default=0.001,
        metadata=about(help="Amplitude of a settled utility, relative to it", min=0, max=1),
    )
    gamma_start: float = field(
        default=0.1, metadata=about(help="First step of a node's price", min=0, max=1)
    )
    gamma_min: float = field(
        default=0.001, metadata=about(help="Smallest step of a node's price", min=0, max=1)
    )
    gamma_max: float = field(
        default=0.1, metadata=about(help="Largest step of a node's price", min=0, max=1)
    )
    gamma_increment: float = field(
        default=0.001,
        metadata=about(help="Added to a step while its price moves one way", min=0, max=1),
    )
    gamma_shrink: float = field(
        default=0.5, metadata=about(help="Factor on a step when its price turns", min=0, max=1)
    )
    link_gamma_start: float = field(
        default=0.25, metadata=about(help="First step of a link's price", min=0, max=1)
    )
    link_gamma_min: float = field(
        default=0.001, metadata=about(help="Smallest step of a link's price", min=0, max=1)
    )
    link_gamma_max: float = field(
        default=0.5, metadata=about(help="Largest step of a link's price", min=0, max=1)
    )

    asynchronous: bool = field(
        default=False,
        metadata=about(
            help="Flows, nodes and links each update in their own rhythm and hear each other late"
        ),
    )
    max_period: int = field(
        default=3,
        metadata=about(
            help="Asynchronous: each updates every 1 to so many iterations",
            unit="iterations",
            min=1,
            max=1000,
        ),
    )
    max_delay: int = field(
        default=3,
        metadata=about(
            help="Asynchronous: what is heard is up to so many iterations old",
            unit="iterations",
            min=0,
            max=1000,
        ),
    )
    average: int = field(
        default=0,
        metadata=about(
            help="Answer from the mean of the last so many rates and prices; "
            "0: 1 synchronous, 3 asynchronous",
            unit="iterations",
            min=0,
            max=1000,
        ),
    )
    prune: bool = field(
        default=False,
        metadata=about(
            help="Solve again without the cost of flows at nodes that refused all their consumers"
        ),
    )

    def __post_init__(self) -> None:
        check_fields(self)
        for name, low, high in (
            ("gamma_min", self.gamma_min, self.gamma_max),
            ("link_gamma_min", self.link_gamma_min, self.link_gamma_max),
        ):
            if low > high:
                raise InvalidProblem(name, f"{low:g} is above the largest step {high:g}")

    def node_rule(self) -> StepRule:
        """Return the rule by which node prices adapt their step size."""
        return StepRule(
            start=self.gamma_start,
            low=self.gamma_min,
            high=self.gamma_max,
            increment=self.gamma_increment,
            shrink=self.gamma_shrink,
        )

    def link_rule(self) -> StepRule:
        """Return the rule by which link prices adapt their step size."""
        return StepRule(
            start=self.link_gamma_start,
            low=self.link_gamma_min,
            high=self.link_gamma_max,
            increment=self.gamma_increment,
            shrink=self.gamma_shrink,
        )

    @property
    def window(self) -> int:
        """How many of the last rates and prices the answer is the mean of."""
        if self.average:
            return self.average
        return ASYNCHRONOUS_WINDOW if self.asynchronous else 1
