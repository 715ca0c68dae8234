"""From an allocation to steps and sentences. No database."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.allocations.domain.proposal import LIMIT, RATE, Proposal, Scarce, burst_of
from apps.allocations.domain.sentences import envelope, promise, why
from apps.allocations.domain.steps import plan_steps
from tests.suites import effort
from tests.weir.kernel_strategies import problems
from weir.actions import InForce, inverse_steps, is_takeaway, replay, target_key
from weir.codec import problem_from_dict
from weir.codec.plan import plan_from_dict, plan_to_dict
from weir.model import Problem, loads
from weir.model.plan import Plan, Source
from weir.optimizers import lrgp
from weir.stop import never

PARAMS = lrgp.Params(max_iterations=20)


def gate_key(flow: str, broker: str) -> tuple[str, str]:
    return RATE, target_key({"flow": flow, "broker": broker})


def limit_key(name: str, flow: str, broker: str) -> tuple[str, str]:
    return LIMIT, target_key({"class": name, "flow": flow, "broker": broker})


@st.composite
def proposals(draw: st.DrawFn, *, enforced: bool = False) -> Proposal:
    """The answer of the optimizer to a random problem, beside random settings in force."""
    problem: Problem = draw(problems(least=0.0))
    result = lrgp.solve(problem, PARAMS, stop=never, seed=1)
    sources = {flow.id: "n0" if enforced or draw(st.booleans()) else None for flow in problem.flows}
    in_force: dict[tuple[str, str], Any] = {}
    for flow in problem.flows:
        if enforced or draw(st.booleans()):
            share = draw(st.floats(0, 1))
            rate = round(flow.rate_min + share * (flow.rate_max - flow.rate_min), 6)
            in_force[gate_key(flow.id, "n0")] = {"rate_per_s": rate, "burst": burst_of(rate, None)}
    for row in problem.classes:
        if enforced or draw(st.booleans()):
            limit = draw(st.integers(0, row.population_max))
            in_force[limit_key(row.id, row.flow, row.node)] = {"limit": limit}
    if not enforced and draw(st.booleans()):
        in_force[gate_key("gone", "n0")] = {"rate_per_s": 1.0, "burst": 5.0}
    return Proposal(
        name="A-3",
        problem=problem,
        rates=result.rates,
        populations=result.populations,
        utility=result.utility,
        resources=tuple(
            Scarce(
                name=f"{resource} of {node.id}",
                load=loads(problem, result.rates, result.populations)[0][node.id][resource],
                capacity=node.capacity[resource],
                price=result.node_prices[node.id][resource],
            )
            for node in problem.nodes
            for resource in problem.resources
        ),
        sources=sources,
        in_force=in_force,
        offered={flow.id: draw(st.floats(0, 1e3)) for flow in problem.flows if draw(st.booleans())},
    )


quick = settings(
    max_examples=effort(10, 25), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def close(one: Any, other: Any) -> bool:
    return one.keys() == other.keys() and all(
        math.isclose(one[name], other[name], rel_tol=2e-6) for name in one
    )


@quick
@given(proposals())
def test_the_steps_lead_to_the_allocation_and_back(proposal: Proposal) -> None:
    steps = plan_steps(proposal)
    start = InForce(settings=proposal.in_force)
    after = replay(start, steps)
    assert after.settings.keys() == proposal.wanted.keys()
    for key, setting in proposal.wanted.items():
        assert close(after.settings[key], setting.value)
    assert replay(after, inverse_steps(steps)) == start


@quick
@given(proposals())
def test_first_takes_then_gives(proposal: Proposal) -> None:
    steps = plan_steps(proposal)
    assert len(steps) <= 2
    for step in steps:
        assert len({is_takeaway(action) for action in step.actions}) == 1
    if len(steps) == 2:
        assert is_takeaway(steps[0].actions[0])
        assert not is_takeaway(steps[1].actions[0])


def state(settings: Any, problem: Problem) -> tuple[dict[str, float], dict[str, int]]:
    rates, limits = {}, {}
    for (kind, key), value in settings.items():
        target = json.loads(key)
        if kind == RATE:
            rates[target["flow"]] = value["rate_per_s"]
        else:
            limits[target["class"]] = value["limit"]
    return rates, limits


@quick
@given(proposals(enforced=True))
def test_no_state_on_the_way_loads_more_than_both_ends(proposal: Proposal) -> None:
    problem = proposal.problem
    now = InForce(settings=proposal.in_force)
    worst = [loads(problem, *state(now.settings, problem))]
    end = loads(problem, proposal.rates, proposal.populations)
    worst.append(end)
    for step in plan_steps(proposal):
        # The actions of a step run in any order: the larger value of each counts.
        after = replay(now, [step])
        both = {
            key: {n: max(now.settings[key][n], after.settings[key][n]) for n in after.settings[key]}
            for key in after.settings
        }
        node_loads, link_loads = loads(problem, *state(both, problem))
        for node in problem.nodes:
            for resource in problem.resources:
                most = max(side[0][node.id][resource] for side in worst)
                assert node_loads[node.id][resource] <= most * (1 + 1e-5)
        for link in problem.links:
            most = max(side[1][link.id] for side in worst)
            assert link_loads[link.id] <= most * (1 + 1e-5)
        now = after


@quick
@given(proposals())
def test_every_plan_can_be_written_and_read(proposal: Proposal) -> None:
    steps = plan_steps(proposal)
    if not steps:
        return
    plan = Plan(
        kind="allocation",
        system="s",
        model_version=1,
        snapshot_hash="",
        source=Source(kind="allocation", id="", name="A-3"),
        title="A-3",
        why=why(proposal),
        steps=steps,
        envelope=envelope(proposal),
        promise=promise(proposal),
    )
    assert plan_from_dict(plan_to_dict(plan)) == plan
    for step in steps:
        for action in step.actions:
            assert action.effect.endswith(".")
    for sentence in plan.why:
        assert sentence.endswith(".")


def harbour(**values: Any) -> Proposal:
    """Two flows at b1; b1 is full, and 5 more gold consumers are let in for slower tides."""
    problem = problem_from_dict(
        {
            "resources": ["cpu"],
            "nodes": [{"id": "b1", "capacity": {"cpu": 1000.0}}],
            "links": [{"id": "b1 b2", "capacity": 500.0}],
            "flows": [
                {
                    "id": name,
                    "rate_min": 1,
                    "rate_max": 200,
                    "node_costs": {"b1": {"cpu": 1.0}},
                    "link_costs": {"b1 b2": 1.0},
                }
                for name in ("orders", "tides")
            ],
            "classes": [
                {
                    "id": name,
                    "flow": flow,
                    "node": "b1",
                    "population_max": 20,
                    "costs": {"cpu": 0.5},
                    "utility": {"kind": "log", "weight": 2},
                }
                for name, flow in (("gold", "orders"), ("bronze", "tides"))
            ],
        }
    )
    rates, populations = {"orders": 100.0, "tides": 40.0}, {"gold": 15, "bronze": 5}
    defaults: dict[str, Any] = {
        "name": "A-3",
        "problem": problem,
        "rates": rates,
        "populations": populations,
        "utility": sum(
            populations[c.id] * float(c.utility.value(rates[c.flow])) for c in problem.classes
        ),
        "resources": (
            Scarce(name="cpu of b1", load=990.0, capacity=1000.0, price=0.29531),
            Scarce(name="link b1 b2", load=140.0, capacity=500.0, price=0.0),
        ),
        "sources": {"orders": "b1", "tides": "b1"},
        "in_force": {
            gate_key("orders", "b1"): {"rate_per_s": 90.0, "burst": 10.0},
            gate_key("tides", "b1"): {"rate_per_s": 80.0, "burst": 9.0},
            limit_key("gold", "orders", "b1"): {"limit": 10},
            limit_key("bronze", "tides", "b1"): {"limit": 20},
        },
    }
    return Proposal(**{**defaults, **values})


def test_the_sentences_name_price_winners_and_losers() -> None:
    assert why(harbour()) == (
        "A-3 lowers the utility from 265.995 to 175.589 (\u221234.0 %).",
        "What is in force would load the fullest resource to 142 % of its capacity, by the model "
        "as it is now.",
        "Cpu of b1 decides: it is at 99.0 % of 1,000 units/s, and one more unit would be worth "
        "0.2953 utility.",
        "20 of 40 consumers that want in are admitted.",
        "orders gains most: 90 to 100 msg/s (+11 %).",
        "tides gives up most: 80 to 40 msg/s (\u221250 %).",
        "gold gains most: 10 to 15 consumers admitted (+50 %).",
        "bronze gives up most: 20 to 5 consumers admitted (\u221275 %).",
    )


def test_effects_say_who_gets_what_and_what_it_loads() -> None:
    first, second = plan_steps(harbour())
    assert [action.effect for action in first.actions] == [
        "5 consumers of tides get 40 instead of 80 msg/s; cpu of b1 -14.0 points.",
        "15 fewer consumers get 40 msg/s each; cpu of b1 -30.0 points.",
    ]
    assert [action.effect for action in second.actions] == [
        "15 consumers of orders get 100 instead of 90 msg/s; cpu of b1 +8.5 points.",
        "5 more consumers get 100 msg/s each; cpu of b1 +25.0 points.",
    ]


def test_what_is_promised() -> None:
    rows = {row.name: row for row in promise(harbour())}
    assert (rows["utility"].before, rows["utility"].after) == (
        pytest.approx(265.99, rel=1e-4),
        pytest.approx(175.587, rel=1e-4),
    )
    assert (rows["consumers admitted"].before, rows["consumers admitted"].after) == (30, 20)
    # In force: 90 x (1 + 5) + 80 x (1 + 10); in the allocation: 100 x (1 + 7.5) + 40 x (1 + 2.5).
    assert (rows["highest load"].before, rows["highest load"].after) == (
        pytest.approx(1.42),
        pytest.approx(0.99),
    )


def test_without_limits_there_is_no_before() -> None:
    proposal = harbour(in_force={}, offered={"orders": 130.0})
    rows = {row.name: row.before for row in promise(proposal)}
    assert rows == {"utility": None, "consumers admitted": None, "highest load": None}
    assert why(proposal)[0] == (
        "A-3 is worth 175.589 utility; nothing is enforced yet, so there is no figure for now."
    )
    assert "orders is cut most: 130 msg/s are offered, 100 allowed." in why(proposal)
    (only,) = plan_steps(proposal)
    assert {action.effect for action in only.actions} == {
        "5 of 20 consumers that want in get 40 msg/s each.",
        "15 of 20 consumers that want in get 100 msg/s each.",
        "15 consumers of orders get up to 100 msg/s, 130 msg/s are offered now.",
        "5 consumers of tides get up to 40 msg/s.",
    }


def test_nobody_and_one_are_spelled_out() -> None:
    (only,) = plan_steps(harbour(in_force={}, populations={"gold": 0, "bronze": 1}))
    assert {action.effect for action in only.actions} == {
        "None of the 20 consumers that want in is admitted.",
        "1 of 20 consumers that want in get 40 msg/s each.",
        "0 consumers of orders get up to 100 msg/s.",
        "1 consumer of tides gets up to 40 msg/s.",
    }


def test_a_flow_without_ingress_is_left_out_and_named() -> None:
    proposal = harbour(sources={"orders": "b1", "tides": None})
    kinds = [(a.kind, a.target.get("flow")) for step in plan_steps(proposal) for a in step.actions]
    # The gate that is in force for it is lifted.
    assert ("set_flow_rate", "tides") in kinds
    (lift,) = [a for s in plan_steps(proposal) for a in s.actions if a.after is None]
    assert lift.effect == "tides no longer enters at b1."
    assert why(proposal)[-1] == (
        "tides has no ingress broker, so its rate is not enforced; give the topic a source broker "
        "to change that."
    )
    assert [bound.name for bound in envelope(proposal)] == ["orders"]


def test_nothing_scarce_is_said_too() -> None:
    calm = harbour(resources=(Scarce(name="cpu of b1", load=63.0, capacity=100.0, price=0.0),))
    assert why(calm)[2] == "Nothing is scarce: the fullest resource, cpu of b1, is at 63.0 %."


def test_what_is_in_force_already_needs_no_step() -> None:
    proposal = harbour()
    done = {key: setting.value for key, setting in proposal.wanted.items()}
    assert plan_steps(harbour(in_force=done)) == ()
    rate = done[gate_key("orders", "b1")]["rate_per_s"]
    nearly = {**done, gate_key("orders", "b1"): {"rate_per_s": rate * (1 + 1e-9), "burst": 11.0}}
    assert plan_steps(harbour(in_force=nearly)) == ()


@pytest.mark.parametrize(
    ("rate", "asked", "burst"),
    [(0.0, None, 2), (5.0, None, 2), (120.0, None, 13), (120.0, 40.0, 40), (5.0, 0.2, 1)],
)
def test_burst(rate: float, asked: float | None, burst: float) -> None:
    assert burst_of(rate, asked) == burst


def test_a_bucket_below_one_message_is_named() -> None:
    assert why(harbour(buckets={"tides": 0.5, "orders": None}))[-1] == (
        "The token bucket of tides holds less than one message and would pass nothing; it is "
        "enforced as 1."
    )


def test_the_envelope_leaves_room_for_chance() -> None:
    rows = {b.name: b for b in envelope(harbour(offered={"orders": 100.0, "tides": 4.0}))}
    assert (rows["orders"].low, rows["orders"].measured) == (10.0, 100.0)
    assert rows["orders"].high == pytest.approx(300 + 4 * math.sqrt(200))
    assert rows["tides"].low == 0.0
    assumed = {b.name: b for b in envelope(harbour())}["orders"]
    assert (assumed.low, assumed.measured) == (0.0, None)
