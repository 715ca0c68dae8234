"""An overlay tree to be transformed into another, and the plan that does it.

Source: Salehi, Zhang, Jacobsen: Incremental Topology Transformation for Publish/Subscribe Systems
Using Integer Programming, section III.C. Build problems with `weir.codec.transformation`, which
checks them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Edge = tuple[str, str]
"""An undirected link by the names of its brokers, the smaller one first."""

Op = Literal["shift", "append", "detach", "move", "exchange"]
Parallel = Literal["broker-disjoint", "paper"]
Objective = Literal["actions", "steps"]
Status = Literal["optimal", "solved", "time_limit", "infeasible"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One action on the tree.

    | op | removes | adds | where |
    |---|---|---|---|
    | shift | broker-source | broker-to | source-to is a link |
    | append | | broker-to | the broker is not in the overlay, `to` is |
    | detach | broker-source | | the broker is a leaf |
    | move | broker-source | broker-to | `to` lies on the side of source |
    | exchange | broker-source | at-to | `at` on the side of broker, `to` on that of source |
    """

    op: Op
    broker: str
    source: str | None = None
    to: str | None = None
    at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionCosts:
    """What an action costs: its op's price, its brokers' and that of the link it makes.

    `move` and `exchange` are allowed only where they have a price.
    """

    shift: float = 1.0
    append: float = 1.0
    detach: float = 1.0
    move: float | None = None
    exchange: float | None = None
    brokers: Mapping[str, float] = field(default_factory=dict)
    """Per action that the broker takes part in: subscribers disturbed, size of routing table."""
    links: Mapping[Edge, float] = field(default_factory=dict)
    """Per action that makes the link: its latency, say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a plan has to keep to."""

    max_degree: int | None = None
    """Links per broker, in every subset and order of a step."""
    parallel: Parallel = "broker-disjoint"
    """Which actions may share a step: those without a common broker, or those that the paper's
    integer program does not exclude from each other."""
    action_costs: ActionCosts = field(default_factory=ActionCosts)
    frozen_brokers: frozenset[str] = frozenset()
    """Take part in no action."""
    frozen_links: frozenset[Edge] = frozenset()
    """Are never removed."""
    move_goal_links: bool = False
    """Whether a link that the goal has, too, may be removed and made again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transformation:
    """The problem: `initial` spans its brokers, `goal` spans its own, both are trees.

    A broker only in `goal` is appended, one only in `initial` is detached.
    """

    brokers: tuple[str, ...]
    initial: frozenset[Edge]
    goal: frozenset[Edge]
    options: Options = field(default_factory=Options)
    initial_brokers: frozenset[str] = frozenset()
    goal_brokers: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Brokers of a tree are those of its links; the only one where there are no links."""
        for name, edges in (("initial_brokers", self.initial), ("goal_brokers", self.goal)):
            if not getattr(self, name):
                found = frozenset(b for edge in edges for b in edge)
                object.__setattr__(self, name, found or frozenset(self.brokers[:1]))

    @property
    def added(self) -> frozenset[str]:
        """Return the brokers of the goal that the plan must append."""
        return self.goal_brokers - self.initial_brokers

    @property
    def removed(self) -> frozenset[str]:
        """Return the initial brokers that the plan must detach."""
        return self.initial_brokers - self.goal_brokers

    @property
    def missing(self) -> frozenset[Edge]:
        """Goal links that are not there yet."""
        return self.goal - self.initial

    @property
    def priced(self) -> bool:
        """Whether actions cost other than 1 each."""
        return self.options.action_costs != ActionCosts()


Steps = tuple[tuple[Move, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformationPlan:
    """The answer: steps of actions that may run together, and how good they are.

    `optimal` means that the bound of the objective asked for is met.
    """

    status: Status
    steps: Steps = ()
    lower_bound_actions: int = 0
    lower_bound_steps: int = 0
    planner: str = ""
    runtime_s: float = 0.0
    cost: float = 0.0
    lower_bound_cost: float = 0.0
    reason: str = ""
    """Why there is no plan; only with `infeasible`."""

    @property
    def actions(self) -> int:
        """How many actions the plan has."""
        return sum(map(len, self.steps))
