"""Which overlay tree would carry the measured traffic cheaper, and is it worth the way there?

The overlay evaluator that IPITT leaves open (Salehi, Zhang, Jacobsen: Incremental Topology
Transformation for Publish/Subscribe Systems Using Integer Programming, section III.C). A topic is
multicast: a message crosses every link of the smallest part of the tree that joins its publisher's
broker with the brokers that want the topic, once. The unit of every cost is one message over one
link. Build problems with `weir.codec.evaluation`, which checks them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from weir.model.transformation import (
    Edge,
    Objective,
    Options,
    TransformationPlan,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """One topic, as it was measured or as the model expects it."""

    topic: str
    published: Mapping[str, float] = field(default_factory=dict)
    """Broker -> messages per second that its own publishers send."""
    interested: Mapping[str, float] = field(default_factory=dict)
    """Broker whose clients want the topic -> messages per second handed to them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A broker as a place for links."""

    broker: str
    capacity_per_s: float | None = None
    """Messages per second that it handles at most; None: not known, no limit."""
    degree_max: int | None = None
    """Links that it may have in a goal topology; None: only the limit of the options holds."""
    x: float | None = None
    y: float | None = None
    """Place on the map, 0 to 1; only for estimated latencies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkOption:
    """A link that may be built, or stands today."""

    a: str
    b: str
    latency_s: float = 0.0
    capacity_per_s: float | None = None
    """Messages per second in both directions together; None: not known, no limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingLinks:
    """How a pair of brokers that no option names is taken; without this it may not be linked."""

    latency_s: float = 0.0
    latency_s_per_unit: float = 0.0
    """Added per unit of distance on the map, where both brokers have a place."""
    capacity_per_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Weigh messages, their time on links and overloads in the cost of a routing."""

    per_message: float = 1.0
    """Per message and link."""
    per_second: float = 0.0
    """Per message and second on a link: weighs the messages in flight."""
    per_overload: float = 10.0
    """Per message above the capacity of a broker or link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disruption:
    """What a transformation costs, in the unit of routing."""

    pause_s: float = 0.1
    """How long one action holds what crosses its links."""
    per_held_message: float = 1.0
    per_action: float = 100.0
    """Per unit of the plan's own cost, which is 1 per action where nothing else is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationProblem:
    """Everything that the evaluator needs; `today` is the tree in force."""

    brokers: tuple[Site, ...]
    """Brokers of the goal. One that `today` lacks is appended, one only in `today` is detached."""
    links: tuple[LinkOption, ...] = ()
    missing_links: MissingLinks | None = None
    traffic: tuple[Traffic, ...] = ()
    today: frozenset[Edge] = frozenset()
    weights: Weights = field(default_factory=Weights)
    disruption: Disruption = field(default_factory=Disruption)
    horizon_s: float = 3600.0
    """How long what is saved counts."""
    options: Options = field(default_factory=Options)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the goal's brokers."""
        return tuple(site.broker for site in self.brokers)

    @property
    def today_brokers(self) -> frozenset[str]:
        """The brokers of today's tree; the only one where it has no links."""
        return frozenset(b for edge in self.today for b in edge) or frozenset(self.names[:1])


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerLoad:
    """Messages per second at one broker."""

    published: float
    """From its own publishers."""
    received: float
    """Over links, for its own clients."""
    relayed: float
    """Over links, for other brokers only."""
    delivered: float
    """To its own clients."""

    @property
    def handled(self) -> float:
        """What is held against the broker's capacity."""
        return self.published + self.received + self.relayed + self.delivered


@dataclass(frozen=True, slots=True, kw_only=True)
class Routing:
    """What a tree costs with the traffic given, per second."""

    cost_per_s: float
    """By the weights, overload included: what candidates are compared by."""
    link_messages_per_s: float
    """Messages per second over links, summed over the links."""
    in_flight: float
    """Messages on links at any moment: rate x latency."""
    overload_per_s: float
    """Messages per second above the capacity of brokers and links, summed."""
    highest_load: float
    """Of a broker, as a share of its capacity; 0 where no capacity is known."""
    highest_broker: str
    """The broker of `highest_load`; empty where no capacity is known."""
    overloaded: tuple[str, ...] = ()
    """Brokers above capacity, by name."""
    overloaded_links: tuple[Edge, ...] = ()
    degree: int = 0
    """Links of the broker with most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A goal topology, or why a method has none."""

    name: str
    """Unique in a result: the method, and the seed where several were asked for."""
    method: str
    seed: int = 0
    status: str = "designed"
    """`designed`; `time_limit`: the best until then; `infeasible`; `failed`."""
    reason: str = ""
    edges: frozenset[Edge] = frozenset()
    routing: Routing | None = None
    saved_per_s: float = 0.0
    """Routing cost per second below today's; negative where it is dearer."""
    links_changed: int = 0
    """Links of the candidate that today's tree does not have."""
    same_as: str = ""
    """An earlier candidate with the same links."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRow:
    """One candidate planned by one planner for one objective with one seed."""

    candidate: str
    planner: str
    objective: Objective
    seed: int = 0
    status: str = ""
    """The plan's; `failed` where the planner broke."""
    reason: str = ""
    plan: TransformationPlan | None = None
    actions: int = 0
    steps: int = 0
    transformation_cost: float = 0.0
    held_messages: float = 0.0
    """Messages that wait for an action somewhere, over the whole plan."""
    duration_s: float = 0.0
    """Steps x pause: the shortest time in which the plan could be carried out."""
    net_benefit: float = 0.0
    """What is saved over the horizon less the transformation cost."""
    runtime_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationResult:
    """Candidates, their plans, and which to take."""

    today: Routing
    candidates: tuple[Candidate, ...]
    rows: tuple[PlanRow, ...]
    best: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Candidate -> objective (`actions`, `steps`) -> index in `rows` of its best plan."""
    frontier: tuple[int, ...] = ()
    """Indices in `rows` that no other beats in routing cost, actions and steps at once."""
    recommended: str = ""
    """The candidate of the highest net benefit; doing nothing has 0."""
    recommended_row: int | None = None
    why: tuple[str, ...] = ()
    """Sentences with numbers."""
