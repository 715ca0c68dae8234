"""A small market: topics that subscribers want in common, streams and groups to carry them."""

from collections.abc import Callable
from collections.abc import Mapping as Members
from dataclasses import dataclass
from typing import Any

import pytest

from apps.accounts.models import User
from apps.catalog.models import Group, Stream, Subscriber, Topic
from apps.mappings.models import Mapping
from apps.mappings.selectors.problem import mapping_problem
from apps.mappings.selectors.settings import settings_of
from apps.mappings.services import mapping_request
from apps.mappings.services.settings import settings_update
from apps.runs.models import Run
from apps.runs.services.computations import run_job_inputs, run_store
from apps.systems.models import System
from apps.systems.services import Drafts, entities_create
from tests.factories import make_system
from tests.factories.runs import claim
from weir.clustering import answer
from weir.clustering.cost import filtering_cost, map_in_force
from weir.clustering.loads import MarketShape, market_load
from weir.codec.mapping import choices_from_answer, mapping_from_json
from weir.kernel import Call
from weir.model.mapping import NOWHERE, FlowMap, MappingProblem

SHAPE = MarketShape(
    flows=48, users=9, least=3, mean=6.0, most=10, markets=3, markets_per_user=2, concentration=0.4
)
STREAMS, GROUPS = 8, 3
QUICK = {"effort": 2.0}
"""Parameters with which the map of so small a market is found at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Market:
    """48 topics of three markets, some of which nobody wants; nine subscribers, eight streams in
    three groups. Nothing is mapped, nothing pinned."""

    system: System
    load: MappingProblem
    """What the catalogue was filled from."""

    def topic(self, name: str) -> Topic:
        return Topic.objects.get(system=self.system, name=name)

    def stream(self, number: int) -> Stream:
        return Stream.objects.get(system=self.system, number=number)

    def group(self, number: int) -> Group:
        return Group.objects.get(system=self.system, number=number)

    @property
    def wanted(self) -> list[str]:
        """Topics that somebody wants, by name."""
        audiences = self.load.interests.audiences.tolist()
        return sorted(n for n, many in zip(self.load.flows, audiences, strict=True) if many)

    @property
    def unwanted(self) -> list[str]:
        return sorted(set(self.load.flows) - set(self.wanted))


def make_market(
    name: str = "market",
    shape: MarketShape = SHAPE,
    *,
    streams: int = STREAMS,
    groups: int = GROUPS,
) -> Market:
    load = market_load(7, shape, max_streams=streams, max_groups=groups)
    system = make_system(name)
    drafts = Drafts(system)
    topics = [
        drafts.add(Topic, name=flow, rate_max_per_s=rate)
        for flow, rate in zip(load.flows, load.rates_per_s.tolist(), strict=True)
    ]
    starts, wanted = (column.tolist() for column in load.interests.by_user)
    for at, user in enumerate(load.users):
        mine = wanted[starts[at] : starts[at + 1]]
        drafts.add(Subscriber, {"interests": [{"topic": topics[t]} for t in mine]}, name=user)
    for number in range(streams):
        drafts.add(Stream, name=f"session-{number}", number=number)
    for number in range(groups):
        drafts.add(Group, name=f"channel-{number}", number=number)
    entities_create(drafts=drafts, actor=None)
    return Market(system=system, load=load)


def kernel_answer(run: Run, stop: Callable[[], bool] = lambda: False) -> bytes:
    """What the job would answer."""
    call = Call(
        stop=stop,
        method=run.method,
        parameters=run.parameters,
        seed=run.seed,
        inputs=dict(run_job_inputs(run)),
    )
    return answer.answer(bytes(run.snapshot.payload), call)


def mapped_run(
    market: Market,
    actor: User | None = None,
    stop: Callable[[], bool] = lambda: False,
    **asked: Any,
) -> Run:
    """A run that has ended."""
    if "method" not in asked:
        asked = {"parameters": QUICK, **asked}
    run = claim(mapping_request(system=market.system, actor=actor, **asked))
    run_store(run, kernel_answer(run, stop))
    return Run.objects.get(pk=run.pk)


def map_market(market: Market, actor: User | None = None, **asked: Any) -> Mapping:
    """The mapping of a run that has ended."""
    return Mapping.objects.get(run=mapped_run(market, actor, **asked))


def maps_of(mapping: Mapping, plain: Members[str, Any]) -> tuple[MappingProblem, list[FlowMap]]:
    """The problem of a mapping, and the maps to choose from."""
    problem = mapping_from_json(bytes(mapping.run.snapshot.payload))
    return problem, list(choices_from_answer(problem, plain).maps)


def put_in_force(market: Market, streams: Members[str, int], groups: Members[int, int]) -> None:
    """The catalogue says that these streams carry these topics, and these groups these streams."""
    stream_of = {row.number: row for row in Stream.objects.filter(system=market.system)}
    group_of = {row.number: row for row in Group.objects.filter(system=market.system)}
    topics = list(Topic.objects.filter(system=market.system))
    for topic in topics:
        number = streams.get(topic.name, NOWHERE)
        topic.stream = stream_of.get(number)
    Topic.objects.bulk_update(topics, ["stream"])
    for number, stream in stream_of.items():
        stream.group = group_of.get(groups.get(number, NOWHERE))
    Stream.objects.bulk_update(stream_of.values(), ["group"])


def in_turn(market: Market) -> None:
    """Wanted topics are in streams one after another, and streams in groups."""
    put_in_force(
        market,
        {name: at % STREAMS for at, name in enumerate(market.wanted)},
        {number: number % GROUPS for number in range(STREAMS)},
    )


def set_weights(market: Market, **values: float) -> None:
    """Weights and pace of the market's system, the others as they are."""
    settings = settings_of(market.system)
    settings_update(settings=settings, actor=None, expected_version=settings.version, values=values)


def point_that_moves(mapping: Mapping) -> int:
    """A map that moves something beyond what must move."""
    points = mapping.outcome["points"]
    return max(range(len(points)), key=lambda at: points[at]["moved"])


def recounted(market: Market) -> float:
    """The cost of the map in force, counted pair by pair from the catalogue."""
    wants = {
        user.name: set(user.interests.values_list("topic__name", flat=True))
        for user in Subscriber.objects.filter(system=market.system)
    }
    weights = settings_of(market.system)
    packet = weights.transport / weights.aggregation
    topics = [
        (t.name, t.rate_max_per_s, t.stream.name, t.stream.group.name)
        for t in Topic.objects.filter(system=market.system).select_related("stream__group")
        if t.stream and t.stream.group
    ]
    by_stream: dict[str, set[str]] = {}
    by_group: dict[str, set[str]] = {}
    for name, _, stream, group in topics:
        by_stream.setdefault(stream, set()).add(name)
        by_group.setdefault(group, set()).add(name)
    cost = 0.0
    for wanted in wants.values():
        for name, rate, stream, group in topics:
            if name in wanted or not wanted & by_group[group]:
                continue
            cost += rate * (weights.messaging if wanted & by_stream[stream] else packet)
    problem = mapping_problem(market.system)
    kept = map_in_force(problem)
    exact = filtering_cost(problem, kept.stream_of, kept.group_of).total
    assert exact == pytest.approx(cost, rel=1e-12)
    return exact
