"""A plan waits for its change in ServiceNow, which is opened, approved there and commented."""

import re
import uuid
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from config.stack import Stack
from tests.apps.integrations.faulty_server import served
from tests.apps.integrations.servicenow_server import FakeServiceNow
from tests.e2e.fleet import Fleet

pytestmark = pytest.mark.e2e
CREDENTIAL = "weir:correct horse"
NAME = f"Change control {uuid.uuid4().hex[:6]}"


@pytest.fixture
def servicenow(fleet: Fleet) -> Iterator[tuple[FakeServiceNow, str]]:
    """A ServiceNow of this machine. Plans of other tests open no change there afterwards."""
    instance = FakeServiceNow(CREDENTIAL)
    with served(instance) as address:
        yield instance, address
        for row in fleet.everybody.get("/api/v1/connections")["results"]:
            off = fleet.everybody.client.patch(
                f"/api/v1/connections/{row['id']}",
                json={"enabled": False, "systems": []},
                headers={"If-Match": f'"{row["version"]}"'},
            )
            assert off.status_code == 200, off.text


def connect(page: Page, address: str, system: str) -> None:
    """An administrator connects it, wrongly at first."""
    page.goto("/connections")
    page.get_by_role("button", name="Add connection").first.click()
    form = page.get_by_role("dialog")
    form.get_by_label("Name", exact=True).fill(NAME)
    form.get_by_label("Product").select_option("servicenow")
    form.get_by_label("Address").fill("nowhere")
    form.get_by_label("Assignment group").fill("Messaging")
    form.get_by_label("Credential").fill("env:WEIR_CREDENTIAL_SERVICENOW")
    form.get_by_label("Systems").click()
    page.get_by_role("option", name=system, exact=True).click()
    form.get_by_label("Credential").focus()  # the list of systems lies over the button
    form.get_by_role("button", name="Save connection").click()
    expect(form.get_by_label("Address")).to_have_attribute("aria-invalid", "true")
    form.get_by_label("Address").fill(address)
    form.get_by_role("button", name="Save connection").click()
    expect(page.get_by_role("heading", name=NAME)).to_be_visible()
    page.get_by_role("button", name="Test", exact=True).click()
    expect(page.get_by_text("It works.")).to_be_visible()
    expect(page.get_by_text("Answers", exact=True).first).to_be_visible()


def test_a_plan_waits_for_its_change_while_servicenow_is_away_and_a_worker_is_killed(
    weir: Stack,
    fleet: Fleet,
    person: Callable[[str], Page],
    servicenow: tuple[FakeServiceNow, str],
) -> None:
    instance, address = servicenow
    admin, operator = person("demo"), person("operator")
    connect(admin, address, "Harbour")

    # Opened with the review, whatever happens on the way.
    instance.is_maintained = True
    fleet.shake()
    plan = fleet.some_plan()
    fleet.command(fleet.author, plan, "submit")
    operator.goto(f"/plans/{plan['id']}")
    change = operator.get_by_role("region", name="Change", exact=True)
    expect(change.get_by_text("Being opened")).to_be_visible()
    expect(admin.get_by_text("Does not answer").first).to_be_visible()
    expect(
        admin.get_by_role("table", name="Waits to be sent").get_by_text("Open the change")
    ).to_be_visible()
    weir.kill("imports")
    instance.is_maintained = False
    # A worker that is killed while it sends leaves the change alone for a while.
    expect(change.get_by_text("Waits for approval there")).to_be_visible(timeout=150_000)
    number = instance.only()["number"]
    expect(change.get_by_role("link", name=number)).to_be_visible()

    # Approved in Weir it still waits.
    fleet.approve(plan)
    refused = fleet.operator.command(f"/api/v1/plans/{plan['id']}", "execute")
    assert (refused.status_code, refused.json()["code"]) == (409, "change_not_approved")
    expect(change.get_by_text(re.compile(f"{number} is not approved yet"))).to_be_visible()

    instance.approve()
    expect(change.get_by_text("Approved there")).to_be_visible()
    operator.get_by_role("button", name="Execute").click()
    operator.get_by_role("dialog").get_by_role("button", name="Execute").click()
    fleet.wait_execution(fleet.execution_of(plan), "succeeded")
    expect(operator.get_by_text("Executed").first).to_be_visible()

    # One change, with every comment once.
    assert len(instance.rows) == 1
    notes = instance.only_notes()
    marks = re.findall(r"\[weir ([0-9a-f-]+)\]", "\n".join(notes))
    assert len(marks) == len(set(marks))
    admin.reload()
    admin.get_by_role("table", name="Last exchanges").get_by_role("button").first.click()
    expect(admin.get_by_text("correct horse")).to_have_count(0)
    rows = fleet.everybody.get("/api/v1/exchanges", page_size=500)["results"]
    assert not any("correct horse" in str(row) for row in rows)
