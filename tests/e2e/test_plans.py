"""From a proposal to changed brokers and back: people in Chromium, real agents, real NATS."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.fleet import Fleet

pytestmark = pytest.mark.e2e


def rates_of(plan: Any) -> list[Any]:
    """The actions of a plan that set rates."""
    actions = [action for step in plan["steps"] for action in step["actions"]]
    return [action for action in actions if action["kind"] == "set_flow_rate"]


def test_allocation_is_read_approved_carried_out_and_rolled_back(
    fleet: Fleet, person: Callable[[str], Page]
) -> None:
    # The author asks for an allocation, reads it and makes a plan of it.
    fleet.shake()
    author = person("editor")
    author.goto(f"/systems/{fleet.system}/topology")
    author.get_by_role("link", name="Optimize").click()
    author.get_by_role("button", name="Start run").click()
    expect(author.get_by_text("Succeeded").first).to_be_visible()
    latest = fleet.rows("allocations")[0]
    author.goto(f"/allocations/{latest['id']}")
    author.get_by_role("button", name="Make plan").click()
    expect(author).to_have_url(re.compile("/plans/"))
    plan = fleet.rows("plans", state="draft")[0]
    expect(author.get_by_text("cranes.rotterdam").first).to_be_visible()
    author.get_by_role("button", name="Send for review").click()
    expect(author.get_by_text("somebody else approves it").first).to_be_visible()
    expect(author.get_by_role("button", name=re.compile("^Approve"))).to_have_count(0)

    # Somebody else approves, a third person carries it out; each finds in the inbox what waits.
    approver, operator = person("approver"), person("operator")
    operator.goto("/inbox")
    approver.goto("/")
    approver.get_by_role("link", name=re.compile("^Inbox: .* for you")).click()
    approver.get_by_role("link", name=f"P-{plan['number']} waits for review").click()
    approver.get_by_label("Comment").fill("Gold keeps everything.")
    approver.get_by_role("button", name=re.compile("^Approve hash")).click()
    operator.get_by_role("link", name=f"P-{plan['number']} is approved").click()
    operator.get_by_role("button", name="Execute").click()
    operator.get_by_role("dialog").get_by_role("button", name="Execute").click()
    fleet.wait_execution(fleet.execution_of(plan), "succeeded")
    operator.goto("/inbox")
    expect(operator.get_by_text("To know")).to_be_visible()
    expect(operator.get_by_role("link", name=re.compile(f"^P-{plan['number']} "))).to_have_count(0)
    operator.goto(f"/plans/{plan['id']}")
    expect(operator.get_by_role("button", name="Roll back")).to_have_count(0)
    expect(operator.get_by_text("Succeeded").first).to_be_visible()

    # The brokers do what the plan says: rates as measured, consumers as the brokers count them.
    fleet.wait_rates()
    gates = fleet.gates()
    offered = {flow: rates[0] for flow, rates in fleet.measured().items()}
    assert len(gates) == len(fleet.rows("topics"))
    assert sum(offered[flow] > 1.15 * rate for flow, rate in gates.items()) >= 5
    limits = fleet.limits()
    populations = {
        row["consumer_class"]: row["admitted"]
        for row in fleet.everybody.get(f"/api/v1/allocations/{latest['id']}/populations")["results"]
    }
    assert {name: limits[name] for name in populations} == populations
    fleet.wait_admitted()
    before = fleet.in_force()

    # A second plan is stopped half-way and taken back: everything is as it was.
    fleet.policy(pace_s=20)
    fleet.shake()
    second = fleet.approved_plan()
    assert len(second["steps"]) == 2
    operator.goto(f"/plans/{second['id']}")
    operator.get_by_role("button", name="Execute").click()
    operator.get_by_role("dialog").get_by_role("button", name="Execute").click()
    expect(operator.get_by_role("button", name="Roll back")).to_be_visible()
    execution = fleet.execution_of(second)
    fleet.everybody.wait(
        f"/api/v1/executions/{execution['id']}",
        lambda row: row["steps"][0]["state"] == "completed",
        20,
    )
    assert fleet.in_force() != before
    operator.get_by_role("button", name="Roll back").click()
    operator.get_by_role("dialog").get_by_role("button", name="Roll back").click()
    expect(operator.get_by_text("Rolled back").first).to_be_visible()
    assert fleet.in_force() == before
    fleet.wait_admitted()
    fleet.wait_rates()


def test_rolling_back_an_executed_plan_brings_everything_back(fleet: Fleet) -> None:
    # Where nothing is in force yet, nothing is limited: going back there would not fit the model.
    fleet.shake()
    fleet.wait_execution(fleet.execute(fleet.approved_plan()), "succeeded")
    before = fleet.in_force()
    fleet.set_capacities(cpu=400.0, link=75.0)  # the most of each: what was before fits as well
    plan = fleet.approved_plan()
    fleet.wait_execution(fleet.execute(plan), "succeeded")
    fleet.wait_admitted()
    assert fleet.in_force() != before
    promised = {action["target"].get("flow"): action["after"] for action in rates_of(plan)}
    status = fleet.flow_status()
    assert {flow: status[flow]["in_force_per_s"] for flow in promised} == {
        flow: after["rate_per_s"] for flow, after in promised.items()
    }

    back = fleet.command(fleet.author, plan, "roll-back", expect=201)
    fleet.command(fleet.author, back, "submit")
    fleet.approve(back)
    fleet.wait_execution(fleet.execute(back), "succeeded")

    assert fleet.in_force() == before
    fleet.wait_admitted()


def test_edited_model_makes_an_approved_plan_stale(
    fleet: Fleet, person: Callable[[str], Page]
) -> None:
    fleet.shake()
    plan = fleet.approved_plan()
    before = fleet.in_force()
    operator = person("operator")
    operator.goto(f"/plans/{plan['id']}")
    expect(operator.get_by_role("button", name="Execute")).to_be_visible()

    # Something else each time: an edit that changes nothing makes nothing stale.
    fleet.change("topics", "tides", description=f"Edited after P-{plan['number']} was approved.")

    refused = fleet.operator.command(f"/api/v1/plans/{plan['id']}", "execute")
    assert refused.status_code == 409
    assert refused.json()["code"] == "plan_is_stale"
    operator.goto(f"/plans/{plan['id']}")
    expect(operator.get_by_text("Stale").first).to_be_visible()
    expect(operator.get_by_role("button", name="Execute")).to_have_count(0)
    assert fleet.in_force() == before


def test_author_cannot_approve_and_two_must_where_the_policy_says_two(
    fleet: Fleet, person: Callable[[str], Page]
) -> None:
    fleet.policy(
        approval_rules=[{"kind": "allocation", "min_brokers": 2, "min_share": 0, "approvals": 2}]
    )
    fleet.shake()
    # Somebody who may approve, but not what is their own.
    plan = fleet.plan(fleet.optimize(), fleet.everybody)
    fleet.command(fleet.everybody, plan, "submit")
    body = {"content_hash": plan["content_hash"]}
    own = fleet.everybody.command(f"/api/v1/plans/{plan['id']}", "approve", body)
    assert own.status_code == 403
    assert own.json()["code"] == "author_cannot_approve"

    page = person("approver")
    page.goto(f"/plans/{plan['id']}")
    expect(page.get_by_text("0 of 2 given").first).to_be_visible()
    page.get_by_role("button", name=re.compile("^Approve hash")).click()
    expect(page.get_by_text("1 of 2 given").first).to_be_visible()
    again = fleet.approver.command(f"/api/v1/plans/{plan['id']}", "approve", body)
    assert again.status_code == 409
    early = fleet.operator.command(f"/api/v1/plans/{plan['id']}", "execute")
    assert early.status_code == 409
    assert early.json()["code"] == "not_approved"
