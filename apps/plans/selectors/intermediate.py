"""Check whether each state that a plan passes through fits the brokers and links.

The actions of a step run in any order, so a step counts with the larger of before and after of
every value. It fits when no broker and no link carries more than its capacity, or than what it
may carry already today.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from apps.calibration.selectors import calibrated_problem, calibration_stamp
from apps.catalog.selectors import system_problem
from apps.common.formatting import percent
from apps.executions.selectors.flow_map import without_moves
from apps.executions.selectors.modelled import CLASS, FLOW
from apps.systems.models import Edition, System
from weir import actions
from weir.actions import InForce
from weir.codec import problem_from_dict
from weir.errors import InvalidProblem
from weir.model import Problem
from weir.model.load import loads
from weir.model.plan import Step, Value

# Rates and costs are floats: a sum may end a few last digits above a capacity that it fills.
TOLERANCE = 1e-6
RATE, LIMIT = "set_flow_rate", "set_population"


class NoModel(Exception):
    """Signal that the model of the system gives no loads to compare with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heaviest:
    """Hold where the plan comes closest to a capacity, or furthest above it."""

    place: str
    share: float
    step: int
    over: bool
    """Some step may load the place above its capacity, and above what it may carry today."""

    @property
    def sentence(self) -> str:
        """Return a phrase such as `at most 91 % at ams-1 after step 2`."""
        if self.over:
            step = self.step + 1
            return f"{self.place} would carry {percent(self.share)} of its capacity in step {step}"
        return f"at most {percent(self.share)} at {self.place} after step {self.step + 1}"


def heaviest_state(system: System, steps: Sequence[Step], found: InForce) -> Heaviest | None:
    """Return the heaviest moment of steps that change settings; None where there is none.

    Raises InvalidProblem where a step does not fit onto the state before it, NoModel.
    """
    steps = without_moves(steps)
    if actions.replay(found, steps).settings == found.settings:
        return None
    problem = model_of(system)
    state, today = found, _shares(problem, found, found)
    settled = today
    worst: Heaviest | None = None
    for index, step in enumerate(steps):
        after = actions.replay(state, [step])
        if after.settings != state.settings:
            for place, share in _shares(problem, state, after).items():
                if share > max(1.0, today.get(place, 0.0)) + TOLERANCE:
                    over = Heaviest(place=place, share=share, step=index, over=True)
                    worst = max(worst, over, key=_weight) if worst else over
            settled = _shares(problem, after, after)
        for place, share in settled.items():
            rest = Heaviest(place=place, share=share, step=index, over=False)
            worst = max(worst, rest, key=_weight) if worst else rest
        state = after
    return worst


def _weight(moment: Heaviest) -> tuple[bool, float]:
    return moment.over, moment.share


def model_of(system: System) -> Problem:
    """Return the model of the system as loads are computed from it. Raises NoModel."""
    return _problem(
        _Version(
            edition=system.edition,
            stamp=calibration_stamp(system),
            system=system,
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Version:
    """Identify a model; the row itself saves reading it again."""

    edition: Edition
    stamp: tuple[object, ...]
    system: System = field(compare=False)


@lru_cache(maxsize=4)
def _problem(model: _Version) -> Problem:
    """Return the model, read once per edition and process.

    Read without a lock it may show a later version than its key says. No harm: plans of a version
    that has passed are stale, and nobody asks for it again.
    """
    try:
        # Without a stamp nothing is calibrated, and the settings need not be read again.
        read = calibrated_problem if model.stamp else system_problem
        return problem_from_dict(read(model.system))
    except InvalidProblem as error:
        raise NoModel(f"the model cannot be read: {error}") from error


def _shares(problem: Problem, one: InForce, other: InForce) -> dict[str, float]:
    """Return the load over capacity of every broker and link, at the larger of the values in both
    states."""
    return _place_shares(problem, *_loads(problem, one, other))


def state_shares(problem: Problem, state: InForce) -> dict[str, float]:
    """Return the load over capacity of every broker and link at the limits of a state."""
    return _shares(problem, state, state)


def place_shares(
    problem: Problem, rates: Mapping[str, float], populations: Mapping[str, float]
) -> dict[str, float]:
    """Return the load over capacity of every broker and link at rates in msg/s by topic, and
    consumers by class."""
    return _place_shares(problem, *loads(problem, rates, populations))


def broker_shares(problem: Problem, state: InForce) -> dict[str, float]:
    """Return the load over capacity of every broker's fullest resource while the state is in
    force."""
    return _broker_shares(problem, _loads(problem, state, state)[0])


def _loads(
    problem: Problem, one: InForce, other: InForce
) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """Return what both states load at the larger of their values.

    What is not carried or served loads nothing; what is, and nothing limits, counts with all that
    the model lets it ask for.
    """
    sides = [_Side.of(state) for state in (one, other)]
    rates = {
        flow.id: max(side.rate(flow.id, flow.rate_max) for side in sides) for flow in problem.flows
    }
    populations = {
        row.id: max(side.population(row.id, row.population_max) for side in sides)
        for row in problem.classes
    }
    return loads(problem, rates, populations)


def _place_shares(
    problem: Problem, node_loads: dict[str, dict[str, float]], link_loads: dict[str, float]
) -> dict[str, float]:
    return _broker_shares(problem, node_loads) | {
        link.id: _share(link_loads[link.id], link.capacity) for link in problem.links
    }


def _broker_shares(problem: Problem, node_loads: dict[str, dict[str, float]]) -> dict[str, float]:
    shares: dict[str, float] = {}
    for node in problem.nodes:
        parts = [
            _share(load, node.capacity[resource])
            for resource, load in node_loads[node.id].items()
            if resource in node.capacity
        ]
        if parts:
            shares[node.id] = max(parts)
    return shares


def _share(load: float, capacity: float) -> float:
    if capacity > 0:
        return load / capacity
    return 0.0 if load <= 0 else float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """Hold what one state lets through, by flow and class."""

    ingresses: dict[str, str]
    gates: dict[tuple[str, str], float]
    served: frozenset[str]
    limits: dict[str, int]

    @classmethod
    def of(cls, state: InForce) -> "_Side":
        by_kind: dict[str, list[tuple[dict[str, str], Value]]] = defaultdict(list)
        for key, value in state.settings.items():
            by_kind[key[0]].append((actions.target_of(key), value))
        served = {(t["class"], v["flow"], t["broker"]) for t, v in by_kind[CLASS]}
        return cls(
            ingresses={t["flow"]: v["broker"] for t, v in by_kind[FLOW]},
            gates={(t["flow"], t["broker"]): float(v["rate_per_s"]) for t, v in by_kind[RATE]},
            served=frozenset(name for name, _, _ in served),
            limits={
                t["class"]: int(v["limit"])
                for t, v in by_kind[LIMIT]
                if (t["class"], t["flow"], t["broker"]) in served
            },
        )

    def rate(self, flow: str, most: float) -> float:
        if flow not in self.ingresses:
            return 0.0
        return self.gates.get((flow, self.ingresses[flow]), most)

    def population(self, name: str, most: int) -> int:
        return self.limits.get(name, most) if name in self.served else 0
