"""What leaves the house: the plan as a file and as a text, and what executed plans achieved."""

from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.plans.models import Plan
from tests.factories.fleet import Harbour, rate, shift
from tests.factories.plans import (
    approved,
    envelope,
    make_plan,
)
from tests.weir.plan_strategies import plan_hash
from weir.codec.plan import plan_from_dict


def at(plan: Plan, command: str = "") -> str:
    return f"/api/v1/plans/{plan.public_id}/{command}"


def test_outcomes_ask_for_a_number_of_days(api: APIClient, db: None) -> None:
    for wrong in ("0", "x", "367"):
        answer = api.get(f"/api/v1/plans/outcomes?days={wrong}")
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "days")


def test_export_as_a_file_gives_the_hash(plan: Plan, api: APIClient) -> None:
    answer = api.get(at(plan, "export"))
    assert answer.headers["Content-Disposition"] == 'inline; filename="P-1.json"'
    body = answer.json()
    assert plan_hash(plan_from_dict(body["plan"])) == plan.content_hash == body["content_hash"]


def test_export_as_text_is_what_a_ticket_needs(
    harbour: Harbour, ines: User, jon: User, api: APIClient
) -> None:
    plan = make_plan(
        harbour.system,
        ines,
        [rate(None, 40.0)],
        [shift("d", "c", "b")],
        envelope=envelope(20.0, 40.0),
    )
    approved(plan, ines, jon)
    answer = api.get(at(plan, "export") + "?as=text")
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    text = answer.content.decode()
    for line in (
        "P-1 Spring tide",
        "System         harbour",
        "State          approved",
        f"Content hash   {plan.content_hash}",
        "- Broker c is full.",
        "utility  100 -> 140",
        "Brokers             4 of 4",
        "Step 1 of 2",
        "1.1 Set tides at a to 40 msg/s, burst 5",
        "    undo: Stop limiting tides at a (was 40 msg/s)",
        "2.1 Shift link d-c to d-b",
        "tides  20 msg/s to 40 msg/s",
        f"[pass] Model unchanged since it was planned: version {plan.model_version}",
        "Decisions (1 of 1 approval)",
    ):
        assert line in text.splitlines(), f"{line!r} not in:\n{text}"
    assert "jon approved" in text
    assert api.get(at(plan, "export") + "?as=pdf").status_code == 400
