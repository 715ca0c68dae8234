"""A topic is placed, tried with other buckets, split over real brokers, and put back."""

import re
from collections.abc import Callable, Iterator
from itertools import chain

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.fleet import TOPIC, Fleet

pytestmark = pytest.mark.e2e


@pytest.fixture
def split(fleet: Fleet) -> Iterator[Fleet]:
    """Brokers that take publishers, and a topic with a contract and publishers of equal rates."""
    with fleet.splittable(token_rate_per_s=24.0, token_bucket=6.0):
        yield fleet


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
    split.carry_out(counting)
    counted = split.parts()
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
    split.carry_out(plan)
    enforced = split.parts()
    assert not any(part["count_only"] for part in enforced.values())
    assert sum(part["rate_per_s"] for part in enforced.values()) == pytest.approx(24.0)
    assert sum(part["size"] for part in enforced.values()) == pytest.approx(6.0)
    expect(in_force.get_by_text("enforced").first).to_be_visible()
    # Publishers have gone where they belong, and what waits there is measured.
    lists = split.lists(plan)
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
        undo = split.command(split.author, done, "roll-back", {}, expect=201)
        split.carry_out(undo)
    assert split.parts() == {}
    split.wait_publishers({source: list(chain.from_iterable(lists.values()))})
    expect(in_force).to_have_count(0)
