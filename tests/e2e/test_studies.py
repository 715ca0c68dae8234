"""What people ask of what-if studies, in real Chromium, against the whole running system."""

import re
import uuid

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.e2e.api import Api, ended
from tests.e2e.browsing import sign_in

pytestmark = pytest.mark.e2e

ENDLESS = {"max_iterations": 1_000_000, "patience": 1_000_000}


def test_sweep_is_asked_read_copied_and_deleted(page: Page, rest: Api) -> None:
    system = rest.system("Base workload")
    name = f"journey {uuid.uuid4().hex[:6]}"
    sign_in(page)
    page.goto(f"/systems/{system['id']}/studies/new")
    page.get_by_label("Points").fill("1")
    expect(page.get_by_text("Give a whole number from 2 to 2,000.")).to_be_visible()
    page.get_by_label("Points").fill("3")
    page.get_by_label("Certified").uncheck()
    page.get_by_label("LRGP").check()
    page.get_by_label(re.compile("^Name")).fill(name)
    page.get_by_role("button", name="Start study").click()

    expect(page.get_by_text("Succeeded").first).to_be_visible()
    expect(page.get_by_role("heading", name="Utility over the varied quantity")).to_be_visible()
    answers = page.get_by_role("table", name="Answers", exact=True)
    expect(answers.get_by_role("row")).to_have_count(1 + 4)
    chart = page.get_by_role("slider", name=re.compile("^Utility over Broker capacity"))
    chart.focus()
    page.keyboard.press("End")
    expect(chart).to_have_attribute("aria-valuetext", re.compile("150 %.*one more is worth"))
    study = rest.get("/api/v1/studies", system=system["id"], search=name)["results"][0]
    points = rest.get(f"/api/v1/studies/{study['id']}/points")["results"]
    for point in points:
        expect(answers.get_by_text(f"{point['utility']:,.1f}").first).to_be_visible()
    assert Axe().run(page).response["violations"] == []

    page.get_by_role("link", name="Duplicate and edit").click()
    expect(page.get_by_label("Points")).to_have_value("3")
    expect(page.get_by_label(re.compile("^Name"))).to_have_value(f"Copy of {name}")
    page.get_by_role("button", name="As text").click()
    text = page.get_by_label("Study as JSON")
    text.fill(text.input_value().replace('"lrgp"', '"nobody"'))
    expect(page.get_by_text("methods[0].method", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Start study")).to_be_disabled()

    page.goto(f"/studies/{study['id']}")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page).to_have_url(re.compile("/studies$"))
    expect(page.get_by_text(name)).to_have_count(0)


def test_answers_appear_while_others_are_computed_and_stay_after_a_cancel(
    page: Page, rest: Api
) -> None:
    capacity = {"kind": "node_capacity", "nodes": ["S2"]}
    started = rest.post(
        "/api/v1/studies",
        {
            "system": rest.system("Base workload")["id"],
            "spec": {
                "kind": "sweep",
                "methods": [{"method": "lrgp", "parameters": ENDLESS}],
                "time_limit_s": 0.5,
                "axes": [
                    {"label": "Capacity of S2", "edit": capacity, "field": "scale"}
                    | {"values": {"from": 0.5, "to": 1.5, "count": 200}}
                ],
            },
        },
    )
    assert started.status_code == 202, started.text
    study = started.headers["Location"]
    sign_in(page)
    page.goto(study.replace("/api/v1", ""))
    expect(page.get_by_text(re.compile(r"^\d+ answers? so far"))).to_be_visible()

    page.get_by_role("button", name="Cancel study").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel study").click()

    expect(page.get_by_text("Cancelled").first).to_be_visible()
    body = rest.wait(study, ended, 60)
    assert body["state"] == "cancelled"
    assert 0 < body["points_done"] < body["points_total"] == 201
    points = rest.get(f"{study}/points", page_size=500)["results"]
    assert len({point["index"] for point in points}) == len(points) == body["points_done"]
