"""A market's flows are mapped: what a map costs whom, how many moves are worth it, and a pin."""

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.api import Api
from tests.e2e.browsing import pick
from tests.e2e.fleet import Fleet

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
    table = page.get_by_role("table", name="Mappings")
    table.get_by_role("link", name=first["name"], exact=True).click()
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


def places(rest: Api, system: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The stream of each topic and the group of each stream, by name."""

    def rows(kind: str) -> list[Any]:
        every: list[Any] = []
        cursor: dict[str, str] = {}
        while True:
            page = rest.get(f"/api/v1/{kind}", system=system, page_size=500, **cursor)
            every += page["results"]
            if not page["next"]:
                return every
            cursor = {"cursor": dict(parse_qsl(urlsplit(page["next"]).query))["cursor"]}

    return (
        {row["name"]: row["stream_name"] for row in rows("topics")},
        {row["name"]: row["group_name"] for row in rows("streams")},
    )


def test_a_chosen_map_becomes_a_plan_that_moves_flows_step_by_step_and_back(
    quarry: str, rest: Api, people: Fleet, person: Callable[[str], Page]
) -> None:
    run = rest.post("/api/v1/mappings", {"system": quarry})
    assert run.status_code == 202, run.text
    ended = rest.wait(
        run.headers["Location"], lambda row: row["state"] not in ("queued", "running"), 60
    )
    mapping = rest.get("/api/v1/mappings", system=quarry)["results"][0]
    assert (ended["state"], mapping["run"]) == ("succeeded", ended["id"])
    points = rest.get(f"/api/v1/mappings/{mapping['id']}")["outcome"]["points"]
    # A map that moves some of what is worth it.
    place = next(at for at, point in enumerate(points) if point["moved"] >= 40)
    point = points[place]
    before = places(rest, quarry)
    now = rest.get("/api/v1/map-in-force", system=quarry)["costs"]["cost"]
    assert now == mapping["former_cost"]

    author = person("editor")
    author.goto(f"/systems/{quarry}/mappings/{mapping['id']}?map={place}")
    force = author.get_by_role("region", name="In force now")
    expect(force).to_contain_text(thousands(now))
    author.get_by_role("button", name="Make a plan").click()
    dialog = author.get_by_role("dialog")
    expect(dialog.get_by_label("What moves")).to_contain_text(str(point["moved"]))
    expect(dialog.get_by_label("What it costs")).to_contain_text(thousands(point["cost"]))
    dialog.get_by_label("Moves per step").fill("25")
    dialog.get_by_role("button", name="Make a plan").click()
    expect(author).to_have_url(re.compile("/plans/"))
    plan = rest.get("/api/v1/plans", system=quarry, state="draft")["results"][0]
    detail = rest.get(f"/api/v1/plans/{plan['id']}")
    actions = [action for step in detail["steps"] for action in step["actions"]]
    flows = point["moved"] + point["placed"] + point["retired"]
    assert sum(action["kind"] == "move_flow" for action in actions) == flows
    assert len(actions) == flows + point["moved_streams"] + point["opened_streams"]
    assert max(len(step["actions"]) for step in detail["steps"]) == 25
    expect(author.get_by_text("Unwanted traffic costs receivers").first).to_be_visible()
    author.get_by_role("button", name="Send for review").click()
    expect(author.get_by_text("somebody else approves it").first).to_be_visible()

    approver = person("approver")
    approver.goto(f"/plans/{plan['id']}")
    approver.get_by_role("button", name=re.compile("^Approve hash")).click()
    operator = person("operator")
    operator.goto(f"/plans/{plan['id']}")
    operator.get_by_role("button", name="Execute").click()
    operator.get_by_role("dialog").get_by_role("button", name="Execute").click()
    execution = people.execution_of(plan)
    costs = [now]
    while people.everybody.get(f"/api/v1/executions/{execution['id']}")["state"] == "running":
        cost = rest.get("/api/v1/map-in-force", system=quarry)["costs"]["cost"]
        costs += [cost] if cost != costs[-1] else []
    steps = people.wait_execution(execution, "succeeded")["steps"]

    # It costs what was promised, step by step less, and every flow is where the map has it.
    after = rest.get("/api/v1/map-in-force", system=quarry)["costs"]["cost"]
    assert after == point["cost"]
    # On a busy machine one sees less of the fall; 25 moves a step at 40 a second keep their pace.
    assert costs == sorted(costs, reverse=True)
    starts = sorted(datetime.fromisoformat(step["started_at"]) for step in steps)
    assert len(starts) == len(detail["steps"]) > 1
    assert all((b - a).total_seconds() >= 0.6 for a, b in pairwise(starts))
    moved = places(rest, quarry)
    for action in actions:
        at = moved[0] if action["kind"] == "move_flow" else moved[1]
        (value,) = (action["after"] or {"none": None}).values()
        assert at[next(iter(action["target"].values()))] == value
    changed = sum(before[0][name] != moved[0][name] for name in before[0])
    assert changed == flows
    expect(operator.get_by_text("Succeeded").first).to_be_visible()
    author.goto(f"/systems/{quarry}/mappings")
    expect(author.get_by_role("region", name="In force now")).to_contain_text(thousands(after))

    # Taken back by a plan of its own: the map is what it was.
    back = people.command(people.author, plan, "roll-back", expect=201)
    people.carry_out(back)
    assert places(rest, quarry) == before
    assert rest.get("/api/v1/map-in-force", system=quarry)["costs"]["cost"] == now
    expect(author.get_by_role("region", name="In force now")).to_contain_text(thousands(now))


def test_what_cannot_be_mapped_says_what_to_add(rest: Api, person: Callable[[str], Page]) -> None:
    rows = rest.get("/api/v1/systems")["results"]
    workload = next(row["id"] for row in rows if row["name"] == "Base workload")
    because = rest.get("/api/v1/mappable", system=workload)["because"]
    assert "subscribers" in because
    page = person("editor")
    page.goto(f"/systems/{workload}/mappings")
    expect(page.get_by_text(because).first).to_be_visible()
    refused = rest.post("/api/v1/mappings", {"system": workload})
    assert refused.status_code == 409
    assert refused.json()["code"] == "nothing_to_map"
