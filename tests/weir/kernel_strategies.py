"""Random problems and utilities for the kernel's property tests."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from weir.codec import problem_from_dict

weights = st.sampled_from([0.0, 0.5, 1.0, 7.0, 40.0, 1e6])


def decimals(low: float, high: float) -> st.SearchStrategy[float]:
    """Numbers as people write them, none closer to 0 than the format allows."""
    return st.floats(low, high).map(lambda value: round(value, 6))


@st.composite
def piecewise(draw: st.DrawFn) -> dict[str, Any]:
    count = draw(st.integers(0, 5))
    steps = draw(st.lists(decimals(0.1, 300), min_size=count, max_size=count))
    slopes = sorted(draw(st.lists(decimals(0, 50), min_size=count, max_size=count)), reverse=True)
    rate, utility = draw(decimals(0, 20)), draw(decimals(-5, 50))
    points = [[rate, utility]]
    for step, slope in zip(steps, slopes, strict=True):
        rate, utility = rate + step, utility + step * slope
        points.append([rate, utility])
    return {"kind": "piecewise", "points": points}


@st.composite
def latency(draw: st.DrawFn) -> dict[str, Any]:
    exec_s = draw(st.floats(1e-3, 0.5))
    return {
        "kind": "latency",
        "max_utility": draw(st.sampled_from([0.0, 1.0, 6000.0])),
        "threshold_s": exec_s * draw(st.floats(1.001, 100)),
        "senders": draw(st.integers(1, 60)),
        "think_s": draw(st.sampled_from([0.0, 0.001, 0.1, 2.0])),
        "exec_s": exec_s,
    }


by_kind: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "log": st.builds(lambda w: {"kind": "log", "weight": w}, weights),
    "power": st.builds(
        lambda w, k: {"kind": "power", "weight": w, "exponent": k}, weights, st.floats(0.01, 0.99)
    ),
    "linear": st.builds(lambda w: {"kind": "linear", "weight": w}, weights),
    "piecewise": piecewise(),
    "latency": latency(),
}
utilities = st.one_of(*by_kind.values())

costs = st.sampled_from([0.0, 0.1, 1.0, 3.0, 19.0, 1e4])
capacities = st.sampled_from([0.0, 0.3, 50.0, 1000.0, 9e5, 1e12])


extremes = st.sampled_from([0.0, 1e-30, 1.0, 1e30])


@st.composite
def extreme_problem_dicts(draw: st.DrawFn) -> dict[str, Any]:
    """Numbers at the ends of what the format allows, where products could overflow."""
    entries: dict[str, Any] = draw(problem_dicts(least=0.0))
    for node in entries["nodes"]:
        node["capacity"] = {key: draw(extremes) for key in node["capacity"]}
    for link in entries["links"]:
        link["capacity"] = draw(extremes)
    for flow in entries["flows"]:
        flow["rate_max"] = draw(extremes)
        flow["link_costs"] = {key: draw(extremes) for key in flow["link_costs"]}
    for consumers in entries["classes"]:
        consumers["costs"] = {key: draw(extremes) for key in consumers["costs"]}
        if "weight" in consumers["utility"]:
            consumers["utility"]["weight"] = draw(extremes)
    return entries


@st.composite
def problem_dicts(draw: st.DrawFn, least: float | None = None) -> dict[str, Any]:
    """Small problems with odd corners: nothing at all, zero capacity, zero rates, several kinds.

    `least` fixes every rate_min (0 makes sure that the minimum rates fit).
    """
    resources = draw(st.sampled_from([[], ["cpu"], ["cpu"], ["cpu", "io"], ["a", "b", "c"]]))
    nodes = [f"n{index}" for index in range(draw(st.integers(0, 3)))]
    links = [f"l{index}" for index in range(draw(st.integers(0, 3)))]
    flows = [f"f{index}" for index in range(draw(st.integers(0, 4)))]

    def amounts() -> dict[str, float]:
        return {name: draw(costs) for name in resources if draw(st.booleans())}

    flow_entries = []
    for flow in flows:
        rate_min = least if least is not None else draw(st.sampled_from([0.0, 1.0, 10.0]))
        flow_entries.append(
            {
                "id": flow,
                "rate_min": rate_min,
                "rate_max": rate_min + draw(st.sampled_from([0.0, 5.0, 990.0])),
                "node_costs": {name: amounts() for name in nodes if draw(st.booleans())},
                "link_costs": {name: draw(costs) for name in links if draw(st.booleans())},
            }
        )
    classes = []
    for index in range(draw(st.integers(0, 8)) if flows and nodes else 0):
        classes.append(
            {
                "id": f"c{index}",
                "flow": draw(st.sampled_from(flows)),
                "node": draw(st.sampled_from(nodes)),
                "population_max": draw(st.sampled_from([0, 1, 7, 400, 2**53])),
                "costs": amounts(),
                "utility": draw(utilities),
            }
        )
    return {
        "resources": resources,
        "nodes": [
            {"id": name, "capacity": {kind: draw(capacities) for kind in resources}}
            for name in nodes
        ],
        "links": [{"id": name, "capacity": draw(capacities)} for name in links],
        "flows": flow_entries,
        "classes": classes,
    }


UNITS = (1e-9, 1e-3, 1.0, 1e6, 1e12)


@st.composite
def tight_problem_dicts(draw: st.DrawFn) -> dict[str, Any]:
    """Capacities that some allocation meets exactly, in units from 1e-9 to 1e12.

    Also capacities that the minimum rates meet, or exceed by half of what counts as feasible.
    """
    entries: dict[str, Any] = draw(problem_dicts())
    of_rate, of_work = draw(st.sampled_from(UNITS)), draw(st.sampled_from(UNITS))
    for flow in entries["flows"]:
        flow["rate_min"] *= of_rate
        flow["rate_max"] = max(flow["rate_max"] * of_rate, flow["rate_min"])
        for costs in (*flow["node_costs"].values(), flow["link_costs"]):
            costs.update({key: cost * of_work / of_rate for key, cost in costs.items()})
    for consumers in entries["classes"]:
        costs = consumers["costs"]
        costs.update({key: cost * of_work / of_rate for key, cost in costs.items()})
    share = draw(st.sampled_from([0.0, 0.5, 1.0]))
    rates = {
        flow["id"]: flow["rate_min"] + share * (flow["rate_max"] - flow["rate_min"])
        for flow in entries["flows"]
    }
    admitted = {
        c["id"]: min(c["population_max"], draw(st.integers(0, 3))) for c in entries["classes"]
    }
    idle = {flow["id"]: flow["rate_min"] for flow in entries["flows"]}

    def limit(least: float, some: float) -> float:
        return draw(st.sampled_from([least, least * (1 - 5e-10), max(least, some)]))

    for node in entries["nodes"]:
        for key in node["capacity"]:

            def load(at: dict[str, float], node: Any = node, key: str = key) -> float:
                flows = entries["flows"]
                costs = [f["node_costs"].get(node["id"], {}).get(key, 0.0) for f in flows]
                return sum(cost * at[f["id"]] for cost, f in zip(costs, flows, strict=True))

            taken = sum(
                c["costs"].get(key, 0.0) * admitted[c["id"]] * rates[c["flow"]]
                for c in entries["classes"]
                if c["node"] == node["id"]
            )
            node["capacity"][key] = limit(load(idle), load(rates) + taken)
    for link in entries["links"]:

        def crossing(at: dict[str, float], name: str = link["id"]) -> float:
            return sum(f["link_costs"].get(name, 0.0) * at[f["id"]] for f in entries["flows"])

        link["capacity"] = limit(crossing(idle), crossing(rates))
    return entries


def problems(least: float | None = None) -> st.SearchStrategy[Any]:
    return problem_dicts(least).map(problem_from_dict)


def shuffled(entries: dict[str, Any], random: Any) -> dict[str, Any]:
    """The same problem with every list and every object in another order."""

    def mixed(value: Any) -> Any:
        if isinstance(value, dict):
            keys = list(value)
            random.shuffle(keys)
            return {key: mixed(value[key]) for key in keys}
        return value

    result = {}
    for key in random.sample(list(entries), len(entries)):
        members = [mixed(entry) for entry in entries[key]]
        random.shuffle(members)
        result[key] = members
    return result
