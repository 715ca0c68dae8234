"""Resource models of the running fleet: fitted to what its agents measure, applied, undone."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.api import ended
from tests.e2e.browsing import sign_in
from tests.e2e.fleet import Fleet

pytestmark = pytest.mark.e2e


def costs(fleet: Fleet) -> dict[tuple[str, str, str], float]:
    """(topic, broker, resource) -> cost that the model holds."""
    names = {row["id"]: row["name"] for row in fleet.rows("brokers")}
    return {
        (topic["name"], names[cost["broker"]], cost["resource"]): cost["cost"]
        for topic in fleet.rows("topics")
        for cost in topic["node_costs"]
    }


def candidate(fit: Any) -> tuple[Any, Any]:
    """A flow's coefficient that differs from the model's, with its case."""
    return next(
        (case, row)
        for case in fit["cases"]
        for row in case["coefficients"]
        if row["kind"] == "flow" and row["old"] is not None and row["value"] != row["old"]
    )


def test_model_is_fitted_to_telemetry_applied_and_undone(page: Page, fleet: Fleet) -> None:
    rest = fleet.everybody
    before = costs(fleet)
    sign_in(page)

    quiet = rest.system("Base workload")["id"]
    page.goto(f"/systems/{quiet}/resource-models")
    expect(page.get_by_text("Nothing was fitted yet")).to_be_visible()
    page.get_by_role("button", name="Fit to telemetry").click()
    expect(page.get_by_text("Start the agents, let messages flow, and ask again")).to_be_visible()

    page.goto(f"/systems/{fleet.system}/resource-models")
    expect(page.get_by_role("table", name="Error correction")).to_be_visible()
    with page.expect_response(lambda answer: answer.request.method == "POST") as response:
        page.get_by_role("button", name="Fit to telemetry").click()
    run = rest.wait(f"/api/v1/runs/{response.value.json()['id']}", ended, 60)
    assert run["state"] == "succeeded", run
    (row,) = rest.get("/api/v1/calibrations", system=fleet.system, run=run["id"])["results"]
    fit = rest.get(f"/api/v1/calibrations/{row['id']}")
    assert {case["broker"] for case in fit["cases"]} == {b["name"] for b in fleet.rows("brokers")}
    # A steady fleet shows few operating points, so there is always something left to measure.
    assert any(case["advice"] for case in fit["cases"])
    expect(page.get_by_role("heading", name=f"Fit {fit['name']}")).to_be_visible()
    expect(page.get_by_text("Operating points that are missing")).to_be_visible()

    for box in page.get_by_role("checkbox", name=re.compile("^Apply ")).all():
        box.uncheck()
    case, wanted = candidate(fit)
    page.get_by_role("checkbox", name=f"Apply {wanted['name']} at {case['broker']}").check()
    page.get_by_role("button", name="Apply 1 selected").click()
    change = page.get_by_role("table", name="What will change")
    expect(change.get_by_role("row")).to_have_count(2)
    page.get_by_label("Reason").last.fill("tried in a test")
    page.get_by_role("button", name="Apply", exact=True).click()
    expect(page.get_by_role("button", name="Undo", exact=True)).to_be_visible()
    place = (wanted["name"], case["broker"], case["resource"])
    assert costs(fleet) == before | {place: wanted["value"]}

    page.get_by_role("button", name="Undo", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Undo", exact=True).click()
    expect(page.get_by_role("row", name=re.compile(fit["name"]))).to_contain_text("Undone")
    assert costs(fleet) == before
