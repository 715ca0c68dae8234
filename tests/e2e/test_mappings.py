"""A market's flows are mapped: what a map costs whom, how many moves are worth it, and a pin."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.api import Api
from tests.e2e.browsing import pick

pytestmark = pytest.mark.e2e


@pytest.fixture
def quarry(rest: Api) -> Iterator[str]:
    """The id of the demo's market; its pins are put back."""
    rows = rest.get("/api/v1/systems")["results"]
    system = next(str(row["id"]) for row in rows if row["name"] == "Quarry")

    def pinned() -> dict[str, Any]:
        topics = rest.get("/api/v1/topics", system=system, pinned=True)["results"]
        return {row["id"]: row for row in topics}

    before = pinned()
    yield system
    for topic, row in pinned().items():
        if topic not in before:
            headers = {"If-Match": f'"{row["version"]}"'}
            answer = rest.client.patch(
                f"/api/v1/topics/{topic}", json={"pinned_stream": None}, headers=headers
            )
            assert answer.status_code == 200, answer.text


def thousands(value: float) -> str:
    return f"{value / 1000:.1f}"


def test_a_map_is_read_tried_with_more_moves_and_made_again_with_a_pin(
    quarry: str, rest: Api, person: Callable[[str], Page]
) -> None:
    first = rest.get("/api/v1/mappings", system=quarry, ordering="number")["results"][0]
    address = f"/api/v1/mappings/{first['id']}"
    outcome = rest.get(address)["outcome"]
    points, proposed = outcome["points"], outcome["proposed"]
    page = person("editor")
    page.goto(f"/systems/{quarry}/mappings")
    page.get_by_role("link", name=first["name"], exact=True).click()
    expect(page.get_by_role("heading", name=f"Mapping {first['name']}")).to_be_visible()

    # Every number is the one of the answer.
    figures = page.locator(".figs")
    expect(figures).to_contain_text(thousands(first["former_cost"]))
    expect(figures).to_contain_text(thousands(first["cost"]))
    expect(figures).to_contain_text(str(first["moved"]))
    layers = page.get_by_role("region", name="Cost by layer")
    for name in ("random", "flat", "in_force"):
        cost = next(row["cost"] for row in outcome["compared"] if row["map"] == name)
        expect(layers).to_contain_text(thousands(cost))
    heat = rest.get(f"{address}/heat")
    assert sum(map(sum, heat["unwanted_per_s"])) == pytest.approx(first["unwanted_per_s"])

    # More moves: figures and tables follow the slider, and the address names the map.
    slider = page.get_by_role("slider", name=re.compile("Flows to move"))
    slider.focus()
    slider.press("ArrowRight")
    more = points[proposed + 1]
    expect(page).to_have_url(re.compile(rf"map={proposed + 1}\b"))
    expect(figures).to_contain_text(thousands(more["cost"]))
    moves = rest.get(f"{address}/moves", map=proposed + 1)
    expect(page.get_by_text(f"{moves['count']} flows, busiest first")).to_be_visible()
    page.get_by_role("button", name="Reset to the proposed").click()
    expect(page).not_to_have_url(re.compile("map="))

    # Who filters most, and why.
    worst = rest.get(f"{address}/receivers")["results"][0]
    page.get_by_role("button", name=f"What {worst['user']} filters").click()
    why = page.get_by_role("table", name=f"What {worst['user']} filters")
    dearest = rest.get(f"{address}/receivers/one", user=worst["user"])["dearest"][0]
    expect(why.get_by_role("row", name=re.compile(dearest["flow"]))).to_contain_text(
        dearest["because"]
    )

    # The busiest flow that would move is pinned to where it is, and the next map leaves it there.
    moving = next(row for row in rest.get(f"{address}/moves")["results"] if row["to_stream"])
    page.get_by_role("button", name="Pin", exact=True).click()
    pick(page, "Topic", moving["flow"])
    stream = page.get_by_role("dialog").get_by_label("To stream")
    stream.fill(f"stream-{moving['from_stream']:02d}")
    page.get_by_role("option", name=re.compile(f"number {moving['from_stream']}$")).click()
    expect(page.get_by_text("from the next mapping on it stays there")).to_be_visible()
    page.get_by_role("dialog").get_by_role("button", name="Pin", exact=True).click()
    expect(page.get_by_text("1 pin is not in this mapping")).to_be_visible()
    page.get_by_role("link", name="Map flows", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Start run").click()
    expect(page.get_by_text("Succeeded").first).to_be_visible(timeout=60_000)
    second = rest.get("/api/v1/mappings", system=quarry)["results"][0]
    assert second["number"] > first["number"]
    detail = rest.get(f"/api/v1/mappings/{second['id']}")
    (pin,) = [row for row in detail["outcome"]["pins"] if row["name"] == moving["flow"]]
    assert pin["to"] == moving["from_stream"]
    kept = rest.get(f"/api/v1/mappings/{second['id']}/moves", search=moving["flow"])["results"]
    assert [row for row in kept if row["to_stream"] != row["from_stream"]] == []
    page.goto(f"/systems/{quarry}/mappings/{second['id']}")
    pins = page.get_by_role("table", name="Pins")
    expect(pins.get_by_role("row", name=re.compile(moving["flow"]))).to_contain_text(
        f"stream {pin['to']}"
    )


def test_what_cannot_be_mapped_says_what_to_add(rest: Api, person: Callable[[str], Page]) -> None:
    rows = rest.get("/api/v1/systems")["results"]
    harbour = next(row["id"] for row in rows if row["name"] == "Harbour")
    because = rest.get("/api/v1/mappable", system=harbour)["because"]
    assert "subscribers" in because
    page = person("editor")
    page.goto(f"/systems/{harbour}/mappings")
    expect(page.get_by_text(because).first).to_be_visible()
    refused = rest.post("/api/v1/mappings", {"system": harbour})
    assert refused.status_code == 409
    assert refused.json()["code"] == "nothing_to_map"
