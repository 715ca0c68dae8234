"""From measured traffic to a better overlay and back: people in Chromium, real agents and brokers,
audited load."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.auditing import AuditedLoad
from tests.e2e.fleet import Fleet
from tests.suites import effort

pytestmark = pytest.mark.e2e

WINDOW_S = 6.0
"""Traffic is measured over so long."""
PACE_S = 0.5
"""Between two steps, so that somebody who watches sees them."""
THERE_AND_BACK = effort(False, True)
NEAR = 0.15
"""What agents count on links against what follows from what they count at gates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Routing:
    """Messages per second, as agents counted them over the last seconds."""

    on_links: float
    published: float

    @property
    def links_per_message(self) -> float:
        """What a message costs, whatever a busy machine does to publishers' rates."""
        return self.on_links / self.published


def measured(fleet: Fleet) -> Routing:
    """Of all brokers; what one end of a link says is what the other says."""
    sent = received = published = 0.0
    for broker in fleet.rows("brokers"):
        answer = fleet.everybody.get("/api/v1/telemetry/series", broker=broker["id"], minutes=1)
        points = answer["points"][-int(WINDOW_S) :]
        seconds = sum(point["interval_s"] for point in points)
        for point in points:
            share = point["interval_s"] / seconds
            published += sum(row["passed_per_s"] for row in point["flows"].values()) * share
            sent += sum(row["sent_per_s"] for row in point["links"].values()) * share
            received += sum(row["received_per_s"] for row in point["links"].values()) * share
    assert received == pytest.approx(sent, rel=NEAR)
    return Routing(on_links=sent, published=published)


def id_in(page: Page, path: str) -> str:
    """The last part of the address, once the page is there."""
    expect(page).to_have_url(re.compile(f"/{path}/[0-9a-f-]{{36}}"))
    return page.url.split("?")[0].rsplit("/", 1)[1]


def evaluate(fleet: Fleet, author: Page) -> dict[str, Any]:
    """Asked for on the topology page; the candidates today's and the recommended, each with what a
    message costs in it."""
    author.goto(f"/systems/{fleet.system}/topology")
    author.get_by_role("button", name="Find a better overlay").first.click()
    dialog = author.get_by_role("dialog")
    dialog.get_by_label("Traffic is the mean of the last").fill(f"{WINDOW_S:g}")
    dialog.get_by_label("Time limit").fill("10")
    # Routing costs what agents can count: one for every message on a link.
    dialog.get_by_role("button", name="Planners, limits, frozen parts and costs").click()
    dialog.get_by_label("Message above capacity").fill("0")
    dialog.get_by_role("button", name="Evaluate").click()
    key = id_in(author, "evaluations")
    expect(author.get_by_text("Recommended", exact=True)).to_be_visible(timeout=180_000)
    done = fleet.everybody.get(f"/api/v1/overlay-evaluations/{key}")
    assert done["traffic"]["source"] == "measured", done["traffic"]
    rows = fleet.rows("overlay-candidates", evaluation=key)
    (today,) = [row for row in rows if row["kind"] == "today"]
    (chosen,) = [row for row in rows if row["chosen"]]
    published = done["traffic"]["published_per_s"]
    for row in (today, chosen):
        row["links_per_message"] = row["traffic_per_s"] / published
    return {"today": today, "chosen": chosen}


def play(page: Page, steps: int) -> None:
    """Every step on the map, from now to the goal, and back by hand."""
    picture = page.get_by_role("img", name=re.compile("^Overlay of 6 brokers"))
    expect(picture).to_have_accessible_name(re.compile("before the first step"))
    page.get_by_role("button", name="Play the steps").click()
    expect(picture).to_have_accessible_name(re.compile(f"after step {steps}, the goal"))
    page.keyboard.press("[")
    expect(picture).to_have_accessible_name(re.compile("still to come"))


def choose(author: Page, found: dict[str, Any]) -> str:
    """Compare the recommended candidate with doing nothing, look at its way, plan it."""
    today, chosen = found["today"], found["chosen"]
    candidates = author.get_by_role("table", name="Candidates")
    candidates.get_by_role("row", name=re.compile("do nothing")).click()
    candidates.get_by_role("row", name=re.compile("Recommended")).click()
    sides = author.get_by_role("table", name=re.compile("against"))
    traffic = sides.get_by_role("row", name=re.compile("^Traffic on links"))
    expect(traffic).to_contain_text(f"{chosen['traffic_per_s']:,.0f}")
    expect(traffic).to_contain_text(f"{today['traffic_per_s']:,.0f}")
    play(author, chosen["steps_count"])
    author.get_by_role("button", name="Make a plan").click()
    again = author.get_by_role("dialog").get_by_role("button", name="Make a plan")
    ready = again.or_(author.get_by_role("button", name="Send for review")).first
    expect(ready).to_be_visible()
    if again.is_visible():
        again.click()
    return id_in(author, "plans")


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """Three of them, each with a browser of their own."""

    author: Page
    approver: Page
    operator: Page


def carry_out(fleet: Fleet, people: People, plan: str) -> None:
    """Sent for review, approved by somebody else, carried out by a third person who watches."""
    people.author.get_by_role("button", name="Send for review").click()
    expect(people.author.get_by_text("somebody else approves it").first).to_be_visible()
    expect(people.author.get_by_role("button", name=re.compile("^Approve"))).to_have_count(0)
    people.approver.goto(f"/plans/{plan}")
    people.approver.get_by_label("Comment").fill("Fewer messages on links.")
    people.approver.get_by_role("button", name=re.compile("^Approve hash")).click()
    expect(people.approver.get_by_role("button", name=re.compile("^Approve hash"))).to_have_count(0)
    # Both go home: three who watch draw more than two cores can beside a fleet under load.
    people.approver.goto("about:blank")
    people.author.goto("about:blank")
    operator = people.operator
    operator.goto(f"/plans/{plan}")
    operator.get_by_role("button", name="Execute").click()
    operator.get_by_role("dialog").get_by_role("button", name="Execute").click()
    # The picture goes along with the steps, levels as measured meanwhile.
    live = operator.get_by_text(re.compile("^as measured after step"))
    expect(live).to_be_visible()
    execution = fleet.execution_of({"id": plan})
    fleet.wait_execution(execution, "succeeded")
    expect(operator.get_by_text("Succeeded").first).to_be_visible()


def way_back(author: Page, plan: str) -> str:
    """A draft that rolls an executed plan back, from its page."""
    author.goto(f"/plans/{plan}")
    author.get_by_role("button", name="Roll back").click()
    dialog = author.get_by_role("dialog")
    dialog.get_by_role("button", name="Roll back").click()
    expect(author).not_to_have_url(re.compile(plan))
    return id_in(author, "plans")


def shown_on_links(operator: Page) -> float:
    """Messages per second on links, as the panel of an executed plan shows them."""
    chart = operator.get_by_role("img", name=re.compile("^Traffic on links: measured"))
    name = str(chart.get_attribute("aria-label"))
    shown = re.search(r"measured ([\d.,]+) msg/s, promised ([\d.,]+) msg/s", name)
    assert shown is not None, name
    return float(shown[1].replace(",", ""))


def edges_of(candidate: Any) -> set[frozenset[str]]:
    return {frozenset(pair) for pair in candidate["edges"]}


@pytest.mark.timeout(600)  # there and back at a pace to watch, traffic measured before and after
def test_a_better_overlay_is_found_in_measured_traffic_and_carried_out_under_load(
    fleet: Fleet, person: Callable[[str], Page]
) -> None:
    people = People(
        author=person("editor"), approver=person("approver"), operator=person("operator")
    )
    fleet.policy(pace_s=PACE_S)
    topics = {"north": ("fel-1", ("rot-1", "bre-1")), "south": ("leh-1", ("ham-1",))}
    with AuditedLoad(fleet, topics, rate_per_s=20.0) as load:
        load.wait_flowing()
        time.sleep(WINDOW_S + 2.0)
        former, before = fleet.edges(), measured(fleet)
        evaluation = evaluate(fleet, people.author)
        today, chosen = evaluation["today"], evaluation["chosen"]
        assert today["links_per_message"] == pytest.approx(before.links_per_message, rel=NEAR)
        assert chosen["traffic_per_s"] < 0.9 * today["traffic_per_s"]

        plan = choose(people.author, evaluation)
        carry_out(fleet, people, plan)
        detail = fleet.everybody.get(f"/api/v1/overlay-candidates/{chosen['id']}")
        assert fleet.edges() == edges_of(detail)

        time.sleep(WINDOW_S + 2.0)
        after = measured(fleet)
        assert after.on_links < 0.95 * before.on_links
        assert after.links_per_message < 0.9 * before.links_per_message
        assert after.links_per_message == pytest.approx(chosen["links_per_message"], rel=NEAR)
        assert shown_on_links(people.operator) < 0.95 * before.on_links

        if THERE_AND_BACK:
            carry_out(fleet, people, way_back(people.author, plan))
            assert fleet.edges() == former
        verdict = load.verdict()
    assert verdict.clean, verdict
    assert verdict.delivered > 500, verdict
    print(f"{before}; {after}; {verdict}")
