"""Random plans: settings that are continuous from step to step, trees and moves on them."""

from __future__ import annotations

import hashlib
from typing import Any

import networkx as nx
from hypothesis import strategies as st

from weir.actions import Edge, InForce, edge, replay, setting_key
from weir.codec.plan import plan_bytes
from weir.model.plan import Action, Bound, Plan, Promise, Source, Step


def plan_hash(plan: Plan) -> str:
    """What an approval is bound to."""
    return hashlib.sha256(plan_bytes(plan)).hexdigest()


names = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1).filter(
    str.strip
)
effects = st.one_of(st.just(""), st.text(st.characters(codec="utf-8"), max_size=30))


def amounts(low: float, high: float) -> st.SearchStrategy[float]:
    """Numbers that the format takes: none so small that a quotient could leave a double."""
    return st.floats(low, high).map(lambda x: round(x, 6))


rate_values = st.fixed_dictionaries({"rate_per_s": amounts(0, 1e6), "burst": amounts(1, 1e6)})
limit_values = st.fixed_dictionaries({"limit": st.integers(0, 10**6)})
part_values = st.fixed_dictionaries(
    {
        "rate_per_s": amounts(1e-3, 1e6),
        "size": amounts(1e-3, 1e6),
        "mode": st.sampled_from(["enforce", "count"]),
    }
)
publisher_names = st.lists(
    st.one_of(st.sampled_from(["p1", "p2", "p10", 'p"3', "ä"]), names), max_size=4, unique=True
).map(sorted)
list_values = st.fixed_dictionaries({"publishers": publisher_names})
order_values = st.fixed_dictionaries(
    {
        "window_s": amounts(60, 300),
        "period_s": amounts(1, 60),
        "least_share": amounts(0, 0.2),
        "brokers": st.lists(names, min_size=1, max_size=4, unique=True).map(sorted),
    }
)
setting_values = {
    "adapt_parts": order_values,
    "assign_publishers": list_values,
    "move_flow": st.fixed_dictionaries({"stream": names}),
    "move_stream": st.fixed_dictionaries({"group": names}),
    "set_bucket": part_values,
    "set_flow_rate": rate_values,
    "set_population": limit_values,
}


@st.composite
def trees(draw: st.DrawFn, least: int = 3) -> frozenset[Edge]:
    size = draw(st.integers(least, 8))
    return frozenset(
        edge(f"b{draw(st.integers(0, child - 1))}", f"b{child}") for child in range(1, size)
    )


@st.composite
def tree_actions(draw: st.DrawFn, edges: frozenset[Edge]) -> Action:
    """A move that fits the tree."""
    graph = nx.Graph(list(edges))
    moves: list[tuple[str, dict[str, str]]] = [
        ("shift_link", {"i": i, "j": j, "k": k})
        for j in graph
        for i in graph[j]
        for k in graph[j]
        if i != k
    ]
    new = next(f"new{i}" for i in range(len(graph) + 1) if f"new{i}" not in graph)
    moves += [("append_broker", {"broker": new, "to": broker}) for broker in graph]
    moves += [
        ("detach_broker", {"broker": leaf, "from": next(iter(graph[leaf]))})
        for leaf in graph
        if graph.degree(leaf) == 1 and len(graph) > 2
    ]
    kind, target = draw(st.sampled_from(sorted(moves, key=repr)))
    return Action(kind=kind, target=target, effect=draw(effects))


@st.composite
def setting_targets(draw: st.DrawFn) -> tuple[str, dict[str, str]]:
    broker, flow = draw(st.sampled_from("ab")), draw(st.sampled_from(["f", "g", 'x"y']))
    kind = draw(st.sampled_from(sorted(setting_values)))
    if kind in ("adapt_parts", "move_flow"):
        return kind, {"flow": flow}
    if kind == "move_stream":
        return kind, {"stream": flow}
    if kind != "set_population":
        return kind, {"flow": flow, "broker": broker}
    return "set_population", {"class": f"{flow}.gold", "flow": flow, "broker": broker}


@st.composite
def in_force_and_steps(draw: st.DrawFn) -> tuple[InForce, tuple[Step, ...]]:
    """Something in force, and steps that fit it."""
    edges = draw(trees())
    settings: dict[tuple[str, str], Any] = {}
    for kind, target in draw(st.lists(setting_targets(), max_size=4)):
        key = setting_key(Action(kind=kind, target=target))
        settings[key] = draw(setting_values[kind])
    start = now = InForce(settings=settings, edges=edges)
    steps: list[Step] = []
    for _ in range(draw(st.integers(1, 4))):
        actions = []
        wanted = draw(st.lists(setting_targets(), max_size=3, unique_by=repr))
        for kind, target in wanted:
            before = now.settings.get(setting_key(Action(kind=kind, target=target)))
            values = setting_values[kind]
            after = draw(st.one_of(st.none(), values).filter(lambda x, before=before: x != before))
            actions.append(
                Action(kind=kind, target=target, before=before, after=after, effect=draw(effects))
            )
        if not actions or draw(st.booleans()):
            actions.append(draw(tree_actions(now.edges)))
        steps.append(Step(actions=tuple(actions)))
        now = replay(now, steps[-1:])
    return start, tuple(steps)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    _, steps = draw(in_force_and_steps())
    number = amounts(-1e6, 1e6)
    return Plan(
        kind="allocation",
        system=draw(names),
        model_version=draw(st.integers(0, 1000)),
        snapshot_hash="ab" * 32,
        source=Source(kind="allocation", id="x", name="A-1"),
        title=draw(names),
        why=tuple(draw(st.lists(names, max_size=3))),
        steps=steps,
        envelope=tuple(
            Bound(name="load", unit="msg/s", low=low, high=low + 1, measured=measured)
            for low, measured in draw(
                st.lists(st.tuples(number, st.one_of(st.none(), number)), max_size=2)
            )
        ),
        promise=(Promise(name="utility", unit="", before=draw(st.none() | number), after=1),),
        pace_s=draw(st.just(0.0) | amounts(0, 1e6)),
    )
