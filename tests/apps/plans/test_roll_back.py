"""What was carried out is rolled back by a plan of its own, whatever that would overload."""

import pytest

from apps.accounts.domain.roles import Role
from apps.accounts.models import User
from apps.common.errors import ApplicationError, Conflict
from apps.executions.selectors import in_force
from apps.executions.selectors.modelled import STRUCTURE
from apps.plans.models import Plan
from apps.plans.services import (
    plan_accept_overload,
    plan_approve,
    plan_dry_run,
    plan_execute,
    plan_roll_back,
    plan_submit,
)
from apps.telemetry.models import Agent
from tests.conftest import client_of
from tests.factories import make_user
from tests.factories.fleet import Harbour, population, rate, shift
from tests.factories.plans import (
    agents_come,
    agents_look,
    approved,
    carried_out,
    make_plan,
    make_policy,
    seen,
    submitted,
)
from weir.model.plan import LONGEST_PAUSE, Promise


@pytest.fixture
def agents(harbour: Harbour) -> dict[str, Agent]:
    agents = agents_come(harbour)
    agents_look(harbour, agents)
    return agents


@pytest.fixture
def executed(harbour: Harbour, agents: dict[str, Agent], ines: User, jon: User, olga: User) -> Plan:
    """Two plans, one after the other; the second one."""
    carried_out(harbour, agents, approved(make_plan(harbour.system, ines), ines, jon), olga)
    steps = [[population(5, 3)], [rate(40.0, 60.0)]]
    promise = (
        Promise(name="utility", unit="", before=100.0, after=140.0),
        Promise(name=LONGEST_PAUSE, unit="s", before=None, after=0.2),
    )
    plan = make_plan(harbour.system, ines, *steps, title="Neap tide", promise=promise)
    carried_out(harbour, agents, approved(plan, ines, jon), olga)
    plan.refresh_from_db()
    return plan


def test_what_is_rolled_back_is_exactly_what_was_before(
    executed: Plan, harbour: Harbour, agents: dict[str, Agent], ines: User, jon: User, olga: User
) -> None:
    back = plan_roll_back(plan=executed, actor=ines, reason="It fell too far.")
    assert (back.state, back.title) == ("draft", "Roll back P-2 Neap tide")
    assert back.source_name == "P-2"
    assert back.content.why == (
        "Takes back what P-2 put in force: Neap tide.",
        "It fell too far.",
    )
    said = executed.events.last()
    assert said is not None
    assert (said.command, said.title) == ("roll_back", "made P-3, which rolls it back")
    assert (said.actor_name, said.note) == (ines.display_name, "It fell too far.")
    utility, pause = back.content.promise
    assert (utility.before, utility.after) == (140.0, 100.0)
    # The inverse holds what crosses a link as long as the way there.
    assert (pause.before, pause.after) == (None, 0.2)
    carried_out(harbour, agents, approved(back, ines, jon), olga)
    settings = in_force(harbour.system).settings
    rates = [value for (kind, _), value in settings.items() if kind not in STRUCTURE]
    assert sorted(tuple(value.items()) for value in rates) == [
        (("burst", 5.0), ("rate_per_s", 40.0)),
        (("limit", 5),),
    ]


def test_only_what_was_carried_out(plan: Plan, ines: User) -> None:
    with pytest.raises(Conflict) as caught:
        plan_roll_back(plan=plan, actor=ines)
    assert caught.value.code == "not_executed"


def test_not_where_something_else_came_after(
    executed: Plan, harbour: Harbour, agents: dict[str, Agent], ines: User, jon: User, olga: User
) -> None:
    later = make_plan(harbour.system, ines, [rate(60.0, 70.0)])
    carried_out(harbour, agents, approved(later, ines, jon), olga)
    with pytest.raises(Conflict, match="rate_per_s 70") as caught:
        plan_roll_back(plan=executed, actor=ines)
    assert caught.value.code == "not_in_force"


def test_over_the_api(executed: Plan, ines: User, olga: User) -> None:
    address = f"/api/v1/plans/{executed.public_id}"
    assert client_of(olga).get(address).json()["allowed_commands"] == []
    assert client_of(olga).post(f"{address}/roll-back", headers=seen(executed)).status_code == 403
    client = client_of(ines)
    assert client.get(address).json()["allowed_commands"] == ["roll_back", "edit"]
    headers = {"Idempotency-Key": "once", **seen(executed)}
    answer = client.post(f"{address}/roll-back", headers=headers)
    assert answer.status_code == 201, answer.content
    body = answer.json()
    assert answer.headers["Location"] == f"/api/v1/plans/{body['id']}"
    assert [a["title"] for step in body["steps"] for a in step["actions"]] == [
        "Set tides at a from 60 msg/s to 40 msg/s, burst 5",
        "Admit 5 consumers of gulls at c (was 3)",
    ]
    assert client.post(f"{address}/roll-back", headers=headers).json()["id"] == body["id"]
    names = client.get("/api/v1/plans?search=P-3").json()["results"]
    assert [row["name"] for row in names] == ["P-3"]
    assert make_user("reader", Role.VIEWER).permissions.isdisjoint({"propose_plan"})


@pytest.fixture
def first(harbour: Harbour, agents: dict[str, Agent], ines: User, jon: User, olga: User) -> Plan:
    """The first limits of the harbour, carried out: before them nothing was limited."""
    plan = make_plan(harbour.system, ines)
    carried_out(harbour, agents, approved(plan, ines, jon), olga)
    plan.refresh_from_db()
    return plan


OVERLOAD = "c would carry 200 % of its capacity in step 1"
BUSY = "Only a third of the gulls come in winter."


def limits_in_force(harbour: Harbour) -> list[str]:
    return [kind for kind, _ in in_force(harbour.system).settings if kind not in STRUCTURE]


def test_first_limits_are_rolled_back_where_somebody_accepts_the_overload(
    first: Plan, harbour: Harbour, agents: dict[str, Agent], ines: User, jon: User, olga: User
) -> None:
    back = plan_roll_back(plan=first, actor=ines)
    with pytest.raises(Conflict) as caught:
        plan_submit(plan=back, actor=ines)
    assert caught.value.code == "would_overload"
    assert OVERLOAD in caught.value.message
    plan_accept_overload(plan=back, actor=jon, reason=BUSY)
    carried_out(harbour, agents, approved(back, ines, jon), olga)
    back.refresh_from_db()
    assert back.state == "executed"
    assert limits_in_force(harbour) == []
    said = back.events.get(command="accept_overload")
    assert (said.actor_name, said.note) == (jon.display_name, BUSY)
    assert said.title == f"accepted that {OVERLOAD}"


def test_who_makes_it_and_may_approve_accepts_the_overload_at_once(
    first: Plan, harbour: Harbour, agents: dict[str, Agent], jon: User, olga: User
) -> None:
    both = make_user("bo", Role.EDITOR, Role.APPROVER)
    back = plan_roll_back(plan=first, actor=both, reason=BUSY, accept_overload=True)
    assert (back.accepted_overload, back.accepted_overload_by) == (BUSY, both)
    # Somebody else still has to approve it.
    row = submitted(back, both)
    assert row.state == "pending_review"
    with pytest.raises(ApplicationError) as caught:
        plan_approve(plan=row, actor=both, content_hash=row.content_hash)
    assert caught.value.code == "author_cannot_approve"
    row = plan_approve(plan=row, actor=jon, content_hash=row.content_hash)
    carried_out(harbour, agents, row, olga)
    assert limits_in_force(harbour) == []


def test_what_overloads_nothing_has_nothing_to_accept(
    executed: Plan, ines: User, jon: User
) -> None:
    back = plan_roll_back(plan=executed, actor=ines, reason=BUSY, accept_overload=True)
    assert back.accepted_overload == ""
    with pytest.raises(Conflict) as caught:
        plan_accept_overload(plan=back, actor=jon, reason=BUSY)
    assert caught.value.code == "nothing_overloaded"


def test_an_overload_is_accepted_with_a_reason_and_in_a_draft(
    first: Plan, ines: User, jon: User
) -> None:
    with pytest.raises(ApplicationError) as caught:
        plan_roll_back(plan=first, actor=jon, reason=" ", accept_overload=True)
    assert (caught.value.code, caught.value.status) == ("reason_needed", 422)
    back = plan_roll_back(plan=first, actor=ines)
    with pytest.raises(ApplicationError) as caught:
        plan_accept_overload(plan=back, actor=jon, reason=" ")
    assert (caught.value.code, caught.value.status) == ("reason_needed", 422)
    plan_accept_overload(plan=back, actor=jon, reason=BUSY)
    submitted(back, ines)
    with pytest.raises(Conflict) as refused:
        plan_accept_overload(plan=back, actor=jon, reason=BUSY)
    assert refused.value.code == "not_in_this_state"


def test_no_policy_approves_an_accepted_overload_by_itself(
    harbour: Harbour, agents: dict[str, Agent], ines: User, jon: User, olga: User
) -> None:
    carried_out(harbour, agents, approved(make_plan(harbour.system, ines), ines, jon), olga)
    make_policy(harbour.system, auto_approve_max_share=1.0, auto_approve_max_change=1.0)
    # 40 msg/s for 5 gulls is 400 of 1000: 101 msg/s for 5 is more than c can carry.
    steps = [[rate(40.0, 60.0)], [rate(60.0, 101.0)]]
    plan = make_plan(harbour.system, ines, *steps)
    plan_accept_overload(plan=plan, actor=jon, reason=BUSY)
    assert submitted(plan, ines).state == "pending_review"
    small = make_plan(harbour.system, ines, [rate(40.0, 60.0)], kind="other")
    assert submitted(small, ines).state == "approved"


def ready(plan: Plan, actor: User) -> tuple[str, str]:
    checks = {c.name: c for c in plan_dry_run(plan=plan, actor=actor, tells=False)}
    return checks["roll_back_ready"].state, checks["roll_back_ready"].detail


def test_the_inverse_is_checked_as_the_plan_is(first: Plan, harbour: Harbour, ines: User) -> None:
    lower = make_plan(harbour.system, ines, [rate(40.0, 30.0)])
    assert ready(lower, ines) == ("pass", "1 action, 1 step")
    # What limits nothing any more is limited again by the inverse.
    lifted = make_plan(harbour.system, ines, [population(5, None)])
    assert ready(lifted, ines) == ("pass", "1 action, 1 step")
    moved = make_plan(harbour.system, ines, [shift("d", "c", "b")], kind="overlay")
    assert ready(moved, ines) == ("pass", "1 action, 1 step")


def test_the_inverse_of_first_limits_is_said_to_overload(
    harbour: Harbour, plan: Plan, ines: User
) -> None:
    assert ready(plan, ines) == (
        "warn",
        f"2 actions, 1 step, only with a reason of somebody who may approve: {OVERLOAD}",
    )


def test_over_the_api_with_what_it_would_overload(
    first: Plan, ines: User, jon: User, olga: User
) -> None:
    at = "/api/v1/plans/{}".format
    editor, approver = client_of(ines), client_of(jon)
    shown = editor.get(at(first.public_id)).json()
    assert (shown["roll_back_overload"], shown["would_overload"]) == (OVERLOAD, "")
    body = {"reason": BUSY, "accept_overload": True}
    address = f"{at(first.public_id)}/roll-back"
    answer = editor.post(address, body, format="json", headers=seen(first))
    assert (answer.status_code, answer.json()["code"]) == (403, "permission_denied")
    answer = editor.post(address, {"reason": "Too low."}, format="json", headers=seen(first))
    assert answer.status_code == 201, answer.content
    back = answer.json()
    accept = f"{at(back['id'])}/accept-overload"
    assert (back["would_overload"], back["accepted_overload"]) == (OVERLOAD, None)
    assert back["allowed_commands"] == ["submit", "discard", "dry_run", "edit"]
    refused = editor.post(f"{at(back['id'])}/submit", headers=seen(back["id"]))
    assert (refused.status_code, refused.json()["code"]) == (409, "would_overload")
    may = approver.get(at(back["id"])).json()["allowed_commands"]
    assert may == ["dry_run", "accept_overload"]
    refused = approver.post(accept, {"reason": ""}, format="json", headers=seen(back["id"]))
    assert (refused.status_code, refused.json()["code"]) == (422, "reason_needed")
    assert refused.json()["errors"][0]["field"] == "reason"
    accepted = approver.post(accept, {"reason": BUSY}, format="json", headers=seen(back["id"]))
    assert accepted.status_code == 200, accepted.content
    told = accepted.json()
    assert (told["accepted_overload"]["person"], told["accepted_overload"]["reason"]) == (
        jon.display_name,
        BUSY,
    )
    assert told["allowed_commands"] == ["dry_run"]
    checks = {check["name"]: check for check in told["checks"]}
    assert checks["intermediate_states"]["state"] == "warn"
    assert checks["intermediate_states"]["detail"].endswith(f"; jon accepts that: {BUSY}")
    assert (
        editor.post(f"{at(back['id'])}/submit", headers=seen(back["id"])).json()["state"]
        == "pending_review"
    )


def test_a_plan_that_rolls_back_waits_as_rolling_back_does(
    executed: Plan, harbour: Harbour, agents: dict[str, Agent], ines: User, jon: User, olga: User
) -> None:
    make_policy(harbour.system, pace_s=40.0, roll_back_pace_s=0.0)
    back = approved(plan_roll_back(plan=executed, actor=ines), ines, jon)
    assert plan_execute(plan=back, actor=olga).pace_s == 0.0


def test_the_history_says_who_paused_resumed_stopped_and_rolled_back_and_why(
    plan: Plan, agents: dict[str, Agent], ines: User, jon: User, olga: User
) -> None:
    execution = plan_execute(plan=approved(plan, ines, jon), actor=olga)
    operator = client_of(olga)
    commands = ("pause", "resume", "stop", "roll-back")
    for command in commands:
        address = f"/api/v1/executions/{execution.public_id}/{command}"
        answer = operator.post(address, {"reason": f"{command}: tides fall"}, format="json")
        assert answer.status_code == 200, answer.content
    events = operator.get(f"/api/v1/plans/{plan.public_id}").json()["events"]
    assert [event["command"] for event in events] == [
        *("create", "submit", "approve", "execute"),
        *("pause", "resume", "stop", "roll_back"),
    ]
    assert [(e["actor"], e["title"], e["note"]) for e in events[4:]] == [
        (olga.display_name, "paused it", "pause: tides fall"),
        (olga.display_name, "resumed it", "resume: tides fall"),
        (olga.display_name, "stopped it", "stop: tides fall"),
        (olga.display_name, "rolled it back", "roll-back: tides fall"),
    ]
    assert [event["at"] for event in events] == sorted(event["at"] for event in events)
