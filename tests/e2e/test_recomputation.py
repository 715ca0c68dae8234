"""A system computes itself again: a schedule made in Chromium, fired by Celery's scheduler."""

import re
import uuid
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.api import Api
from tests.e2e.browsing import sign_in

pytestmark = pytest.mark.e2e
ROOM = "/api/v1/recomputation"


def make_pier(rest: Api) -> tuple[str, Any]:
    """A small system of one's own that can be computed, and its broker."""

    def post(path: str, **body: Any) -> Any:
        answer = rest.post(f"/api/v1/{path}", body)
        assert answer.status_code == 201, answer.text
        return answer.json()

    name = f"pier {uuid.uuid4().hex[:6]}"
    system = post("systems", name=name, product="simulated")["id"]
    broker = post(
        "brokers", system=system, name="b1", capacities=[{"resource": "cpu", "capacity": 50_000}]
    )
    utility = post(
        "utility-functions", system=system, name="gold", kind="log", parameters={"weight": 20}
    )
    topic = post(
        "topics",
        system=system,
        name="prices",
        source=broker["id"],
        rate_min_per_s=5,
        rate_max_per_s=500,
    )
    post(
        "consumer-classes",
        system=system,
        name="near",
        topic=topic["id"],
        broker=broker["id"],
        utility=utility["id"],
        population_max=40,
        costs=[{"resource": "cpu", "cost": 10}],
    )
    return system, broker


def done(page: Any) -> bool:
    return bool(page["results"]) and page["results"][0]["state"] == "done"


def all_ended(page: Any) -> bool:
    return all(firing["ended_at"] for firing in page["results"])


def test_a_schedule_and_a_trigger_compute_a_system_again(page: Page, rest: Api) -> None:
    system, broker = make_pier(rest)
    sign_in(page)
    page.goto(f"/systems/{system}/recomputation")
    page.get_by_role("button", name="New schedule").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("often")
    dialog.get_by_label("Every", exact=True).fill("10")
    dialog.get_by_label("Unit").select_option(label="seconds")
    dialog.get_by_label("Then").select_option(label="Make a plan and submit it")
    expect(dialog.get_by_text("Every 10 seconds")).to_be_visible()
    dialog.get_by_role("button", name="Save schedule").click()
    schedules = page.get_by_role("table", name="Schedules")
    expect(schedules.get_by_role("row", name=re.compile("often"))).to_be_visible()

    # Beat calls: nothing here asks for it, and the coordinator waits for another ten seconds.
    firings = page.get_by_role("table", name="Firings")
    row = firings.get_by_role("row", name=re.compile("often")).last
    expect(row.get_by_text("In review")).to_be_visible(timeout=90_000)
    expect(row.get_by_role("link", name=re.compile("^P-"))).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    expect(schedules.get_by_text("Paused")).to_be_visible()
    # A second one may have come before the pause: it would compute what is changed below.
    fired = rest.wait(f"{ROOM}/firings", all_ended, 90, system=system)
    first = fired["results"][-1]
    assert "did not call" not in first["why"]
    plan = rest.get(f"/api/v1/plans/{first['plan']}")
    assert plan["state"] == "pending_review"
    entries = rest.get("/api/v1/audit", object=first["plan"])["results"]
    assert {entry["actor_name"] for entry in entries} == {"Schedule"}

    page.get_by_role("button", name="New trigger").click()
    dialog.get_by_label("Name").fill("capacities")
    dialog.get_by_label("After lasting").fill("0")
    dialog.get_by_label("Then").select_option(label="Compute only")
    dialog.get_by_role("button", name="Save trigger").click()
    triggers = page.get_by_role("table", name="Triggers")
    expect(triggers.get_by_role("row", name=re.compile("capacities"))).to_be_visible()
    halved = rest.client.patch(
        f"/api/v1/brokers/{broker['id']}",
        json={"capacities": [{"resource": "cpu", "capacity": 25_000}]},
        headers={"If-Match": f'"{broker["version"]}"'},
    )
    assert halved.status_code == 200, halved.text
    row = firings.get_by_role("row", name=re.compile("capacities"))
    expect(row.get_by_text("cpu of b1 changed by 50.0 %")).to_be_visible()
    expect(row.get_by_text("Computed")).to_be_visible()

    schedules.get_by_role("button", name="Delete").click()
    dialog.get_by_role("button", name="Delete").click()
    expect(
        page.get_by_text(
            "This system has no schedule. A schedule optimizes it again at the times you set."
        )
    ).to_be_visible()
    expect(firings.get_by_role("row", name=re.compile("often")).first).to_be_visible()
