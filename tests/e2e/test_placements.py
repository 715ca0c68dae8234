"""A topic is placed, tried with other buckets, split over real brokers, and put back."""

import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.fleet import Fleet

pytestmark = pytest.mark.e2e

TOPIC = "cranes.rotterdam"
ROOM = {"rot-1": 14.0, "ham-1": 14.0, "ant-1": 8.0}
"""Beside what others send there; the topic's publishers send 20 msg/s, which no broker takes."""


@pytest.fixture
def split(fleet: Fleet) -> Iterator[Fleet]:
    """Brokers that take publishers, and a topic with a contract and publishers of equal rates."""
    publishers = fleet.rows("publishers")
    names = [row["name"] for row in publishers if row["topic_name"] == TOPIC]
    wanted: dict[tuple[str, str], dict[str, float | None]] = {
        ("topics", TOPIC): {"token_rate_per_s": 24.0, "token_bucket": 6.0},
        **{("publishers", name): {"rate_per_s": round(20.0 / len(names), 3)} for name in names},
    }
    for broker, room in ROOM.items():
        others = [r for r in publishers if r["broker_name"] == broker and r["topic_name"] != TOPIC]
        taken = sum(row["rate_per_s"] for row in others)
        wanted["brokers", broker] = {"publish_rate_max_per_s": round(taken + room, 3)}
    for broker in ("fel-1", "leh-1", "bre-1"):
        wanted["brokers", broker] = {"publish_rate_max_per_s": None}
    before = {}
    for (kind, name), values in wanted.items():
        (row,) = [row for row in fleet.rows(kind) if row["name"] == name]
        before[kind, name] = {member: row[member] for member in values}
        fleet.change(kind, name, **values)
    yield fleet
    for (kind, name), values in before.items():
        fleet.change(kind, name, **values)


def parts_of(fleet: Fleet) -> dict[str, Any]:
    """What agents observe of the topic's bucket, by broker."""
    return {
        row["broker_name"]: row["observed"]["buckets"][TOPIC]
        for row in fleet.rows("agents")
        if TOPIC in row["observed"]["buckets"]
    }


def lists_of(fleet: Fleet, plan: Any) -> dict[str, list[str]]:
    """Broker -> the publishers that it lets in once the plan has been carried out."""
    exported = fleet.everybody.get(f"/api/v1/plans/{plan['id']}/export")
    actions = [action for step in exported["plan"]["steps"] for action in step["actions"]]
    return {
        action["target"]["broker"]: action["after"]["publishers"]
        for action in actions
        if action["kind"] == "assign_publishers"
    }


def carried_out(fleet: Fleet, plan: Any) -> Any:
    fleet.do(fleet.author, f"plans/{plan['id']}/submit")
    execution = fleet.execute(fleet.approve(plan))
    fleet.wait_execution(execution, "succeeded")
    return execution


def test_a_topic_is_split_over_brokers_and_put_back(
    split: Fleet, person: Callable[[str], Page]
) -> None:
    (topic,) = [row for row in split.rows("topics") if row["name"] == TOPIC]
    source = topic["source_name"]
    # The author places the topic, and tries a larger bucket.
    author = person("editor")
    author.goto(f"/systems/{split.system}/placements")
    author.get_by_role("button", name="Place a topic").first.click()
    dialog = author.get_by_role("dialog")
    dialog.get_by_label("Topic").click()
    dialog.get_by_label("Topic").fill(TOPIC)
    author.get_by_role("option", name=re.compile(TOPIC)).click()
    dialog.get_by_role("button", name="Start run").click()
    expect(author.get_by_text("Succeeded").first).to_be_visible(timeout=60_000)
    placement = split.rows("placements")[0]
    assert placement["topic_name"] == TOPIC
    assert placement["brokers"] > 1
    author.goto(f"/systems/{split.system}/placements/{placement['id']}")
    expect(author.get_by_role("heading", name=f"Placement of {TOPIC}")).to_be_visible()
    sum_row = author.get_by_role("table", name="Brokers").get_by_role("row", name=re.compile("Sum"))
    expect(sum_row).to_contain_text("24")
    slider = author.get_by_role("slider", name=re.compile("Bucket"))
    slider.focus()
    slider.press("Shift+ArrowRight")
    expect(author.get_by_text("What if", exact=True).first).to_be_visible()
    expect(sum_row).to_contain_text("16.00")
    author.get_by_role("button", name="Reset").click()
    expect(sum_row).to_contain_text("6.00")

    # First the parts are only counted.
    author.get_by_role("button", name="Make a plan").click()
    dialog.get_by_role("button", name="Only count it").click()
    dialog.get_by_role("button", name="Make a plan").click()
    expect(author).to_have_url(re.compile("/plans/"))
    expect(author.get_by_text(re.compile("Count what the parts of")).first).to_be_visible()
    counting = split.rows("plans", state="draft")[0]
    carried_out(split, counting)
    counted = parts_of(split)
    assert len(counted) == placement["brokers"]
    assert all(part["count_only"] for part in counted.values())
    address = f"placements/{placement['id']}/parts"
    split.everybody.wait(
        f"/api/v1/{address}",
        lambda body: any((row["messages"] or 0) > 20 for row in body["results"]),
        60,
    )
    author.goto(f"/systems/{split.system}/placements/{placement['id']}")
    in_force = author.get_by_role("table", name="Parts in force")
    expect(in_force.get_by_text("only counted").first).to_be_visible()

    # Then they are enforced: never more than the whole bucket, and taken back again.
    plan = split.do(split.author, f"placements/{placement['id']}/plan", {}, expect=201)
    carried_out(split, plan)
    enforced = parts_of(split)
    assert not any(part["count_only"] for part in enforced.values())
    assert sum(part["rate_per_s"] for part in enforced.values()) == pytest.approx(24.0)
    assert sum(part["size"] for part in enforced.values()) == pytest.approx(6.0)
    expect(in_force.get_by_text("enforced").first).to_be_visible()
    # Publishers have gone where they belong, and what waits there is measured.
    lists = lists_of(split, plan)
    assert len([names for names in lists.values() if names]) == placement["brokers"]
    split.wait_publishers(lists)
    split.everybody.wait(
        f"/api/v1/{address}",
        lambda body: all(row["wait_messages"] for row in body["results"] if row["publishers"]),
        60,
    )
    # Since then each broker measures for the next round; that of a few seconds is too little.
    line = split.everybody.wait(
        f"/api/v1/placements/{placement['id']}/rounds",
        # Where all tokens are used up, what waits from before is forgotten after two minutes only.
        lambda body: body["results"][0]["measured"] is not None,
        60,
    )
    (placed,) = line["results"]
    assert placed["is_in_force"]
    for row in placed["measured"]["brokers"]:
        assert row["publishers"] == len(lists[row["broker"]])
        assert row["verdict"] != "kept", row
    assert not line["can_place_again"]
    rounds = author.get_by_role("table", name="Rounds")
    expect(rounds).to_contain_text("Inconclusive")
    expect(author.get_by_role("button", name="Place again by what was measured")).to_be_disabled()
    again = split.author.post(f"/api/v1/placements/{placement['id']}/again", {})
    assert again.status_code == 409, again.text
    assert again.json()["code"] == "not_measured"
    for done in (plan, counting):
        undo = split.do(split.author, f"plans/{done['id']}/roll-back", {}, expect=201)
        carried_out(split, undo)
    assert parts_of(split) == {}
    split.wait_publishers({source: list(chain.from_iterable(lists.values()))})
    expect(in_force).to_have_count(0)
