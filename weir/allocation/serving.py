"""Which nodes each flow serves, where a problem says that flows go only where they are wanted.

Once it is fixed which nodes each flow serves, a problem `wanted` is a problem `always` with fewer
costs (`weir.model.forwarding.served`). Its answers hold in the problem itself: whoever is not
admitted after all only makes loads smaller. Methods without a bound search over these choices:

1. Serve everybody who waits. Where the minimum rates then do not fit, give up what is worth least
   per load on the most overloaded place (`fitting`).
2. Solve. Give up the nodes where nobody was admitted and solve again from those prices.
3. Where somebody is admitted everywhere, give up the branch whose consumers bring least against
   what the way to them costs at the prices of the best answer (`losses`), one after the other as
   long as there is a loss, and keep what is better.

A heuristic, also where each solution is exact: prices at the margin say what to try, not what pays.

Cost: a few solutions; each choice looks at every flow and node it serves.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from weir.codec import content_hash
from weir.codec.start import start_of
from weir.model import loads
from weir.model.forwarding import hosts_of, reached, served, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from weir.allocation.pruning import SolveOnce
    from weir.model import ConsumerClass, Flow, Problem, Result, Start
    from weir.stop import Progress

Hosts = dict[str, set[str]]
"""Flow to the nodes at which it serves consumers."""

STAGES = 8
"""Solutions at most."""

NEGLIGIBLE = 1e-9
"""Loss at a node that is no reason to give it up, relative to what its consumers bring."""


def solve_where_wanted(
    solve_once: SolveOnce,
    problem: Problem,
    *,
    stop: Callable[[Progress], bool],
    on_progress: Callable[[Progress], None] | None,
    start: Start | None,
) -> Result:
    """The best answer over the choices of nodes to serve that steps 1 to 3 try."""
    hosts = fitting(problem, waiting(problem))
    best: Result | None = None
    trace: tuple[float, ...] = ()
    tried: list[Hosts] = []
    stopped = False
    for _ in range(STAGES):
        done, least = len(trace), 0.0 if best is None else best.utility

        def later(progress: Progress, done: int = done, least: float = least) -> Progress:
            return replace(
                progress,
                iteration=progress.iteration + done if progress.iteration else 0,
                best_utility=max(progress.best_utility, least),
            )

        def enough(progress: Progress, later: Callable[..., Progress] = later) -> bool:
            nonlocal stopped
            stopped = stop(later(progress)) or stopped
            return stopped

        def tell(progress: Progress, later: Callable[..., Progress] = later) -> None:
            if on_progress is not None:
                on_progress(later(progress))

        result = solve_once(served(problem, hosts), stop=enough, on_progress=tell, start=start)
        trace += result.trace
        if best is None or result.utility > best.utility:
            best = result
        tried.append(hosts)
        options = [hosts_of(problem, result.populations), *losses(problem, best)]
        untried = next((option for option in options if option not in tried), None)
        if stopped or untried is None:
            break
        hosts, start = untried, start_of(best)
    assert best is not None  # there is at least one stage
    return replace(
        best, problem_hash=content_hash(problem), iterations=len(trace), trace=trace, bounds=()
    )


def waiting(problem: Problem) -> Hosts:
    """Every node at which somebody waits for the flow."""
    return hosts_of(problem, {row.id: row.population_max for row in problem.classes})


class _Place(NamedTuple):
    """A node's resource, or a link."""

    node: str | None
    what: str


def fitting(problem: Problem, hosts: Mapping[str, Collection[str]]) -> Hosts:
    """The nodes to serve whose minimum rates fit; the least worth per load is given up first."""
    kept = {flow: set(nodes) for flow, nodes in hosts.items()}
    lowest = {flow.id: flow.rate_min for flow in problem.flows}
    worth = _most_worth(problem)
    while True:
        place = _most_overloaded(served(problem, kept), lowest)
        if place is None:
            return kept
        options = []
        for flow in sorted(problem.flows, key=lambda flow: flow.id):
            load = _load(serving(flow, kept[flow.id]), place)
            if load <= 0:
                continue
            for behind in _branches(flow, kept[flow.id]):
                rest = _load(serving(flow, kept[flow.id] - behind), place)
                freed = (load - rest) * flow.rate_min
                if freed > 0:
                    lost = sum(worth[flow.id, node] for node in behind)
                    options.append((lost / freed, flow.id, sorted(behind)))
        _, flow_id, nodes = min(options)
        kept[flow_id] -= set(nodes)


def _most_worth(problem: Problem) -> dict[tuple[str, str], float]:
    highest = {flow.id: flow.rate_max for flow in problem.flows}
    worth: dict[tuple[str, str], float] = defaultdict(float)
    for row in problem.classes:
        value = float(row.utility.value(highest[row.flow]))
        worth[row.flow, row.node] += row.population_max * max(value, 0.0)
    return worth


def _most_overloaded(problem: Problem, rates: Mapping[str, float]) -> _Place | None:
    at_nodes, on_links = loads(problem, rates, {})
    over: list[tuple[float, str, str]] = []
    for node in problem.nodes:
        for resource, load in at_nodes[node.id].items():
            if load > node.capacity[resource]:
                over.append((load / max(node.capacity[resource], 1e-300), node.id, resource))
    worst = max(over, default=None)
    links = [
        (on_links[link.id] / max(link.capacity, 1e-300), link.id)
        for link in problem.links
        if on_links[link.id] > link.capacity
    ]
    if links and (worst is None or max(links)[0] > worst[0]):
        return _Place(None, max(links)[1])
    return None if worst is None else _Place(worst[1], worst[2])


def _load(flow: Flow, place: _Place) -> float:
    if place.node is None:
        return flow.link_costs.get(place.what, 0.0)
    return flow.node_costs.get(place.node, {}).get(place.what, 0.0)


def _branches(flow: Flow, hosts: Collection[str]) -> Iterator[set[str]]:
    """Hosts that lie at or behind one node: what can be given up together."""
    ways = {host: reached(flow, (host,)) for host in hosts}
    for node in sorted(frozenset[str]().union(*ways.values())):
        yield {host for host, way in ways.items() if node in way}
    if hosts:
        yield set(hosts)


def losses(problem: Problem, result: Result) -> list[Hosts]:
    """The nodes served without one branch that costs more than it brings, the worst loss first."""
    hosts = hosts_of(problem, result.populations)
    rows: dict[tuple[str, str], list[ConsumerClass]] = defaultdict(list)
    for row in problem.classes:
        if result.populations.get(row.id, 0) > 0:
            rows[row.flow, row.node].append(row)
    found: list[tuple[float, str, list[str]]] = []
    for flow in problem.flows:
        rate, now = result.rates[flow.id], hosts[flow.id]
        whole = _price(serving(flow, now), result)
        for behind in _branches(flow, now):
            gain = size = 0.0
            for row in (row for node in behind for row in rows[flow.id, node]):
                worth = float(row.utility.value(rate))
                count = result.populations[row.id]
                gain += count * (worth - _class_price(row, result) * rate)
                size += count * worth
            saved = (whole - _price(serving(flow, now - behind), result)) * rate
            if gain - saved < -NEGLIGIBLE * size:
                found.append((gain - saved, flow.id, sorted(behind)))
    return [
        {
            name: served_at - set(nodes) if name == flow_id else served_at
            for name, served_at in hosts.items()
        }
        for _, flow_id, nodes in sorted(found)
    ]


def _price(flow: Flow, result: Result) -> float:
    """Of one message of the flow, consumers apart."""
    nodes = sum(
        cost * result.node_prices.get(node, {}).get(resource, 0.0)
        for node, costs in flow.node_costs.items()
        for resource, cost in costs.items()
    )
    links = sum(cost * result.link_prices.get(at, 0.0) for at, cost in flow.link_costs.items())
    return nodes + links


def _class_price(row: ConsumerClass, result: Result) -> float:
    prices = result.node_prices.get(row.node, {})
    return sum(cost * prices.get(resource, 0.0) for resource, cost in row.costs.items())
