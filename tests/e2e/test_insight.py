"""From a refusal to a better utility function: prices, reasons, the editor, its preview, undo."""

import re
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from tests.e2e.api import Api, ended
from tests.e2e.browsing import sign_in
from tests.e2e.test_journeys import make_system

pytestmark = pytest.mark.e2e

POINTS = [[0, 0], [10, 200], [40, 320], [100, 400]]


def make_rivals(rest: Api) -> tuple[str, str, str]:
    """Two classes after the room of one broker: the system's id and name, the drawn function."""
    system, system_name = make_system(rest)
    (broker,) = rest.get("/api/v1/brokers", system=system)["results"]
    topic = rest.post(
        "/api/v1/topics",
        {"system": system, "name": "ticks", "rate_min_per_s": 5, "rate_max_per_s": 100},
    ).json()
    made: dict[str, Any] = {}
    for name, kind, parameters, wanted in (
        ("drawn", "piecewise", {"points": POINTS}, 400),
        ("cheap", "log", {"weight": 1}, 900),
    ):
        made[name] = rest.post(
            "/api/v1/utility-functions",
            {"system": system, "name": name, "kind": kind, "parameters": parameters},
        ).json()
        rest.post(
            "/api/v1/consumer-classes",
            {
                "system": system,
                "name": name,
                "topic": topic["id"],
                "broker": broker["id"],
                "utility": made[name]["id"],
                "population_max": wanted,
                "costs": [{"resource": "cpu", "cost": 10}],
            },
        )
    return system, system_name, made["drawn"]["id"]


def drag(page: Page, handle: Locator, down_px: float) -> None:
    box = handle.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y + down_px / 2)
    page.mouse.move(x, y + down_px)
    page.mouse.up()


def serious(page: Page) -> list[str]:
    violations = Axe().run(page).response["violations"]
    return [row["id"] for row in violations if row["impact"] in ("serious", "critical")]


def test_price_refusal_and_an_edit_with_its_preview(page: Page, rest: Api) -> None:
    system, system_name, utility = make_rivals(rest)
    refused = "cheap"
    run = rest.wait(rest.optimize(system_name), ended, 90)
    sign_in(page)

    page.goto(f"/allocations/{run['allocation']}")
    expect(page.get_by_text(re.compile(r"One more cpu unit/s at b1 is worth"))).to_be_visible()
    page.get_by_role("row", name=re.compile(refused)).click()
    expect(page.get_by_role("heading", name=f"Why was {refused} refused?")).to_be_visible()
    expect(page.get_by_text("It costs more than it brings")).to_be_visible()
    page.get_by_role("button", name="Check by solving again").click()
    expect(
        page.get_by_text(re.compile(r"With a weight of .* instead of 1.00, .* are in"))
    ).to_be_visible()
    assert serious(page) == []

    page.goto(f"/systems/{system}/utility-functions/{utility}/edit")
    point = page.get_by_role("slider", name="Point 2")
    expect(page.get_by_text("Concave", exact=True)).to_be_visible()
    utility_2 = page.get_by_label("Utility of point 2")
    drag(page, point, 25)
    expect(utility_2).not_to_have_value("320")
    dragged = utility_2.input_value()
    assert 200 < float(dragged) < 320
    point.focus()
    page.keyboard.press("Shift+ArrowUp")
    expect(utility_2).to_have_value(str(int(float(dragged)) + 10))
    expect(page.get_by_text("Draft, unsaved")).to_be_visible()
    preview = page.get_by_role("table", name="What would change")
    for whose in ("draft", "saved"):
        row = preview.get_by_role("row", name=re.compile(f"Total utility, by the {whose}"))
        expect(row).to_be_visible()
    assert serious(page) == []

    utility_2.fill("150")
    expect(page.get_by_text(re.compile("Not concave at point|Not yet a function"))).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("Save as model"))).to_be_disabled()
    page.keyboard.press("Control+z")
    expect(page.get_by_text("Concave", exact=True)).to_be_visible()

    page.get_by_role("button", name=re.compile("Save as model")).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name=re.compile("Save as model")).click()
    expect(page.get_by_text("Saved utility drawn")).to_be_visible()
    stored = rest.get(f"/api/v1/utility-functions/{utility}")["parameters"]["points"]
    assert stored != POINTS
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(utility_2).to_have_value("320")
    assert rest.get(f"/api/v1/utility-functions/{utility}")["parameters"]["points"] == POINTS
