"""Candidates x planners x seeds: the rows, what is best, and when doing nothing is."""

from __future__ import annotations

import dataclasses
import itertools
import random

import pytest

from tests.weir.evaluation.whole import evaluate
from tests.weir.topologies.instances import problem
from weir.codec.evaluation import evaluation_from_dict, evaluation_to_dict
from weir.codec.evaluation_result import evaluation_result_from_dict, evaluation_result_to_dict
from weir.errors import InvalidProblem
from weir.evaluation.portfolio import (
    design,
    designs,
    gather,
    named,
    portfolio_from_dict,
    solve_unit,
    units,
)
from weir.routing.benefit import held_messages
from weir.routing.cost import routing

QUICK = [{"name": "slides", "parameters": {"patience": 5}}]
SMALL = {"kind": "evaluation", "planners": QUICK, "seeds": [0, 1]}


def still():
    return 0.0


@pytest.fixture(scope="module")
def asked():
    return problem(brokers=8, topics=6, seed=1)


@pytest.fixture(scope="module")
def answer(asked):
    return evaluate(asked, portfolio_from_dict(SMALL), clock=still)


def test_doing_nothing_is_the_first_candidate_and_costs_nothing(asked, answer):
    first = answer.candidates[0]
    assert (first.method, first.edges, first.saved_per_s) == ("keep_today", asked.today, 0.0)
    row = answer.rows[answer.best["keep_today"]["actions"]]
    assert (row.actions, row.steps, row.transformation_cost, row.net_benefit) == (0, 0, 0.0, 0.0)


def test_every_candidate_has_a_plan_for_every_planner_objective_and_seed(asked, answer):
    for candidate in answer.candidates[1:]:
        rows = [row for row in answer.rows if row.candidate == candidate.name]
        tried = {(row.planner, row.objective, row.seed) for row in rows}
        expected = set(itertools.product(["slides"], ["actions", "steps"], [0, 1]))
        assert tried == (set() if candidate.same_as else expected)


def test_figures_of_a_row_follow_from_its_plan(asked, answer):
    by_name = {candidate.name: candidate for candidate in answer.candidates}
    for row in answer.rows:
        assert row.plan is not None
        candidate = by_name[row.candidate]
        saved = answer.today.cost_per_s - routing(asked, candidate.edges).cost_per_s
        held = held_messages(asked, row.plan.steps)
        cost = 100.0 * row.actions + held
        assert candidate.saved_per_s == pytest.approx(saved)
        assert row.transformation_cost == pytest.approx(cost)
        assert row.net_benefit == pytest.approx(saved * 3600 - cost)
        assert row.actions == sum(map(len, row.plan.steps))


def test_recommended_has_the_highest_net_benefit(answer):
    best = {name: answer.rows[at["actions"]].net_benefit for name, at in answer.best.items()}
    assert best[answer.recommended] == max(best.values()) > 0
    assert answer.rows[answer.recommended_row].candidate == answer.recommended
    assert "Net benefit" in " ".join(answer.why)


def test_nothing_on_the_frontier_is_beaten(answer):
    cost = {each.name: each.routing.cost_per_s for each in answer.candidates}
    figures = [(cost[row.candidate], row.actions, row.steps) for row in answer.rows]
    kept = {figures[at] for at in answer.frontier}
    assert len(kept) == len(answer.frontier)
    for one in figures:
        beaten = any(
            other != one and all(x <= y for x, y in zip(other, one, strict=True))
            for other in figures
        )
        assert (one in kept) != beaten


def test_doing_nothing_is_recommended_where_nothing_pays(asked):
    short = dataclasses.replace(asked, horizon_s=1e-6)
    told = portfolio_from_dict({"planners": QUICK, "methods": ["minimum_cost"]})
    result = evaluate(short, told, clock=still)
    assert result.recommended == "keep_today"
    assert result.why[0].startswith("Do nothing: the best of the others, minimum_cost, saves ")


def test_answer_does_not_depend_on_the_order_of_the_rows(asked, answer):
    portfolio = portfolio_from_dict(SMALL)
    made = [design(asked, each, clock=still) for each in designs(portfolio)]
    candidates = named(made, answer.today)
    rows = [solve_unit(asked, unit, clock=still) for unit in units(asked, portfolio, candidates)]
    random.Random(1).shuffle(rows)
    assert gather(asked, candidates, rows, today=answer.today, objective="actions") == answer


def test_answer_comes_back_from_plain_data(answer):
    plain = evaluation_result_to_dict(answer)
    assert evaluation_result_to_dict(evaluation_result_from_dict(plain)) == plain
    with pytest.raises(InvalidProblem, match='missing key "why"'):
        evaluation_result_from_dict({key: plain[key] for key in plain if key != "why"})


def test_given_goal_is_a_candidate_and_a_bad_one_says_why(asked):
    goal = next(
        each.edges
        for each in evaluate(
            asked,
            portfolio_from_dict({"methods": ["topic_connected"], "planners": QUICK}),
            clock=still,
        ).candidates
        if each.method == "topic_connected"
    )
    told = portfolio_from_dict(
        {
            "methods": [],
            "planners": QUICK,
            "goals": {"mine": [list(pair) for pair in goal], "part": [["b000", "b001"]]},
        }
    )
    result = evaluate(asked, told, clock=still)
    assert [each.name for each in result.candidates] == ["keep_today", "mine", "part"]
    assert result.candidates[1].edges == goal
    assert result.candidates[2].status == "failed"
    assert "misses broker" in result.candidates[2].reason
    assert result.recommended == "mine"


def test_equal_candidates_are_planned_once(asked):
    told = portfolio_from_dict(
        {
            "methods": ["topic_connected", {"name": "topic_connected", "parameters": {}}],
            "planners": QUICK,
        }
    )
    result = evaluate(asked, told, clock=still)
    assert result.candidates[2].name == "topic_connected (2)"
    assert result.candidates[2].same_as == "topic_connected"
    assert result.best["topic_connected (2)"] == result.best["topic_connected"]
    assert not any(row.candidate == "topic_connected (2)" for row in result.rows)


def test_goal_beyond_the_options_is_a_row_that_says_so(asked):
    plain = evaluation_to_dict(asked)
    degree = max(sum(name in pair for pair in asked.today) for name in asked.names)
    plain["options"] = {"max_degree": degree}
    hub = [[asked.names[0], name] for name in asked.names[1:]]
    told = portfolio_from_dict({"methods": [], "goals": {"star": hub}})
    result = evaluate(evaluation_from_dict(plain), told, clock=still)
    assert {row.status for row in result.rows if row.candidate == "star"} == {"failed"}
    assert "has 7 links in goal" in next(r.reason for r in result.rows if r.candidate == "star")
    assert result.recommended == "keep_today"


def test_brokers_that_come_and_go_are_planned(asked):
    plain = evaluation_to_dict(asked)
    plain["brokers"] = [row for row in plain["brokers"] if row["id"] != "b003"] + [{"id": "new"}]
    told = portfolio_from_dict({"methods": ["topic_connected"], "planners": QUICK})
    result = evaluate(evaluation_from_dict(plain), told, clock=still)
    for row in result.rows:
        ops = {move.op for step in row.plan.steps for move in step}
        assert {"append", "detach"} <= ops
    assert {row.candidate for row in result.rows} == {"keep_today", "topic_connected"}


@pytest.mark.parametrize(
    ("plain", "words"),
    [
        (1, "must be an object"),
        ({"method": []}, 'unknown key "method"'),
        ({"objective": "both"}, 'objective: must be actions or steps, not "both"'),
        ({"seeds": []}, "seeds: must hold at least one seed"),
        ({"seeds": [-1]}, r"seeds\[0\]: must be a whole number"),
        ({"methods": ["best"]}, r'methods\[0\]: no method "best"'),
        ({"planners": [{"name": "gut"}]}, r'planners\[0\]: no planner "gut"'),
        ({"methods": [{"name": "minimum_cost", "parameters": {"rounds": -1}}]}, "rounds: must be"),
        ({"methods": [{"title": "x"}]}, r"methods\[0\]: must be a name"),
        ({"goals": {"g": [["a"]]}}, "goals.g: must be a list of pairs"),
    ],
)
def test_bad_portfolio_is_refused_by_name(plain, words):
    with pytest.raises(InvalidProblem, match=words):
        portfolio_from_dict(plain)
