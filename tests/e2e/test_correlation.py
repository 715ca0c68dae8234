"""Publishers of the demo that burst together are found by what agents measured, and get a key."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.browsing import pick
from tests.e2e.fleet import Fleet

pytestmark = pytest.mark.e2e

TOPIC = "reefers.bremerhaven"
ROWS = {
    row: [f"{TOPIC}/{row}-{number}" for number in range(1, publishers + 1)]
    for row, publishers in (("row-a", 6), ("row-b", 5))
}
"""Burst of the demo -> its publishers, which have no correlation key."""
MEASURED_S = 75.0
"""For how long agents must have measured: some 18 bursts of the one, 15 of the other."""


def keys_of(fleet: Fleet) -> dict[str, str | None]:
    """Publisher of the topic -> the name of its correlation key."""
    return {
        row["name"]: row["correlation_key_name"]
        for row in fleet.rows("publishers")
        if row["topic_name"] == TOPIC
    }


def has_measured_enough(times: Any) -> bool:
    if times["since"] is None:
        return False
    since, until = (datetime.fromisoformat(times[end]) for end in ("since", "until"))
    bursting = sum(len(names) for names in ROWS.values())
    return times["timed"] >= bursting and (until - since).total_seconds() >= MEASURED_S


def test_publishers_that_burst_together_get_a_key_and_lose_it_again(
    fleet: Fleet, person: Callable[[str], Page]
) -> None:
    (topic,) = [row for row in fleet.rows("topics") if row["name"] == TOPIC]
    before = keys_of(fleet)
    times = fleet.everybody.wait(
        f"/api/v1/topics/{topic['id']}/publisher-times", has_measured_enough, 150
    )
    assert times["publishers"] == times["heard"] == len(before)

    # An editor looks for bursts; the dialog says what is known.
    author = person("editor")
    author.goto(f"/systems/{fleet.system}/correlation")
    author.get_by_role("button", name="Look for bursts").first.click()
    dialog = author.get_by_role("dialog")
    pick(author, "Topic", TOPIC)
    expect(dialog).to_contain_text(f"{len(before)} of {len(before)} publishers heard")
    dialog.get_by_role("button", name="Start run").click()
    expect(author.get_by_text("Succeeded").first).to_be_visible()
    analysis = fleet.rows("correlation-analyses", topic=topic["id"])[0]
    suggestions = fleet.everybody.get(f"/api/v1/correlation-analyses/{analysis['id']}/suggestions")
    groups = {}
    for suggestion in suggestions["results"]:
        members = fleet.everybody.get(
            f"/api/v1/correlation-suggestions/{suggestion['id']}/members", page_size=100
        )
        groups[suggestion["number"]] = sorted(row["publisher"] for row in members["results"])
    # Exactly who bursts together; those that send all the time are in no group.
    assert sorted(groups.values()) == sorted(sorted(names) for names in ROWS.values())
    assert keys_of(fleet) == before, "nothing is applied before somebody accepts it"

    # The editor sees why, accepts one, and the publishers have the key.
    row_a = sorted(ROWS["row-a"])
    (number,) = [number for number, names in groups.items() if names == row_a]
    author.goto(f"/systems/{fleet.system}/correlation/{analysis['id']}")
    card = author.get_by_role("article").filter(
        has=author.get_by_role(
            "heading", name=re.compile(rf"^{number}\. {len(row_a)} publishers send together")
        )
    )
    expect(card).to_contain_text("of their moments lie within 50 ms")
    key = card.get_by_label("Name of the key").input_value()
    assert key
    card.get_by_role("button", name="Accept").click()
    expect(dialog).to_contain_text(f"{len(row_a)} publishers get the key {key}")
    dialog.get_by_role("button", name="Accept").click()
    expect(card.get_by_text("Accepted", exact=True)).to_be_visible()
    expect(card.get_by_role("link", name="Place the topic again")).to_be_visible()
    assert keys_of(fleet) == {**before, **dict.fromkeys(row_a, key)}

    # It is taken back: the publishers are without a key, and the key is gone.
    card.get_by_role("button", name="Undo").click()
    dialog.get_by_role("button", name="Undo").click()
    expect(card.get_by_text("Open", exact=True)).to_be_visible()
    assert keys_of(fleet) == before
    assert key not in {row["name"] for row in fleet.rows("correlation-keys")}
