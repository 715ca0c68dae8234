"""Parts of a topic's bucket follow its traffic by an approved order, and come back when stopped."""

import asyncio
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from agent.drivers.nats.server_config import PUBLISHER_USER
from agent.publisher import Access, Publisher, PublisherTraffic, Tally
from config.stack.parts.fleet import addresses
from tests.e2e.api import ended
from tests.e2e.fleet import TOPIC, Fleet

pytestmark = pytest.mark.e2e

RATE, SIZE = 48.0, 24.0
"""The contract: the demo's three publishers send 8 msg/s each, whatever the model says of them."""
SLACK = 1 + 1e-9
GROWN = 1.15
"""A part this many times as large as in force has followed its traffic."""
HELD_S = 3.0
"""For how long parts that were stopped are watched while traffic would have them move."""


@pytest.fixture
def split(fleet: Fleet) -> Iterator[Fleet]:
    """Brokers that take publishers, and a topic with a contract that leaves half of it unused."""
    with fleet.splittable(token_rate_per_s=RATE, token_bucket=SIZE):
        yield fleet


@contextmanager
def more_traffic(fleet: Fleet, name: str, broker: str, rate_per_s: float) -> Iterator[Tally]:
    """Publish the topic as a second connection of one of its publishers, as its clients do."""
    site = fleet.weir.site
    tally = Tally()
    own = PublisherTraffic(
        name=name, flow=TOPIC, broker=broker, reliable=False, rate_per_s=rate_per_s
    )
    access = Access(
        brokers=addresses(site), publisher=PUBLISHER_USER, client_key=site.secrets["clients"]
    )
    loop = asyncio.new_event_loop()
    ready = threading.Event()
    tasks: list[asyncio.Task[None]] = []

    async def publish() -> None:
        tasks.append(
            asyncio.create_task(Publisher(own, access=access, tally=tally, life="e2e").run())
        )
        ready.set()
        with suppress(asyncio.CancelledError):
            await tasks[0]

    # Beside the browser's own loop, which this thread has.
    thread = threading.Thread(target=lambda: loop.run_until_complete(publish()))
    thread.start()
    ready.wait()
    try:
        yield tally
    finally:
        loop.call_soon_threadsafe(tasks[0].cancel)
        thread.join()
        loop.close()


def adaptation_of(fleet: Fleet, address: str) -> Any:
    """Read the adaptation; what is asked of brokers and what they enforce keeps the contract."""
    body = fleet.everybody.get(address)
    assert sum(part["rate_per_s"] for part in body["parts"]) <= RATE * SLACK, body["parts"]
    assert sum(part["size"] for part in body["parts"]) <= SIZE * SLACK, body["parts"]
    enforced = fleet.parts()
    assert sum(part["rate_per_s"] for part in enforced.values()) <= RATE * SLACK, enforced
    assert sum(part["size"] for part in enforced.values()) <= SIZE * SLACK, enforced
    return body


def wait_adaptation(
    fleet: Fleet, address: str, until: Callable[[Any], bool], seconds: float = 60.0
) -> Any:
    """Read until it is so; the contract is kept all the while."""
    deadline = time.monotonic() + seconds
    while not until(body := adaptation_of(fleet, address)):
        assert time.monotonic() < deadline, body
        time.sleep(0.3)
    return body


def part_at(body: Mapping[str, Any], broker: str) -> Any:
    (part,) = [part for part in body["parts"] if part["broker"] == broker]
    return part


def is_settled(body: Mapping[str, Any]) -> bool:
    """Whether the whole contract is given out and confirmed."""
    rate = sum(part["rate_per_s"] for part in body["parts"])
    return rate >= RATE * (1 - 1e-9) and all(part["is_confirmed"] for part in body["parts"])


def is_as_in_force(body: Mapping[str, Any]) -> bool:
    return all(
        part["is_confirmed"]
        and part["rate_per_s"] == pytest.approx(part["in_force_rate_per_s"], rel=1e-9)
        and part["size"] == pytest.approx(part["in_force_size"], rel=1e-9)
        for part in body["parts"]
    )


def placed(fleet: Fleet) -> Any:
    """Place the topic; returns the placement, over more than one broker."""
    (topic,) = [row for row in fleet.rows("topics") if row["name"] == TOPIC]
    request = {"system": fleet.system, "topic": topic["id"]}
    run = fleet.do(fleet.author, "placements", request, expect=202)
    run = fleet.everybody.wait(f"/api/v1/runs/{run['id']}", ended, 60)
    assert run["state"] == "succeeded", run["failure"]
    placement = fleet.rows("placements")[0]
    assert placement["brokers"] > 1
    return placement


def test_parts_follow_traffic_and_come_back_when_stopped(
    split: Fleet, person: Callable[[str], Page]
) -> None:
    placement = placed(split)
    page_of = f"/systems/{split.system}/placements/{placement['id']}"
    address = f"/api/v1/topics/{placement['topic']}/adaptation"
    assert split.everybody.get(address)["state"] == "off"

    # The author plans it with parts that follow the traffic.
    author = person("editor")
    author.goto(page_of)
    author.get_by_role("button", name="Plan the adaptation").click()
    dialog = author.get_by_role("dialog")
    expect(dialog.get_by_label(re.compile("Adapt the parts to traffic"))).to_be_checked()
    dialog.get_by_label("Period").fill("90")
    expect(dialog.get_by_role("button", name="Make a plan")).to_be_disabled()
    dialog.get_by_label("Period").fill("1")
    dialog.get_by_label("History").fill("5")
    dialog.get_by_role("button", name="Make a plan").click()
    expect(author).to_have_url(re.compile("/plans/"))
    expect(author.get_by_text(re.compile(f"Adapt the parts of {TOPIC}")).first).to_be_visible()
    plan = split.rows("plans", state="draft")[0]
    split.carry_out(plan)
    lists = split.lists(plan)
    split.wait_publishers(lists)
    body = wait_adaptation(split, address, lambda now: now["state"] == "running")
    assert (body["window_s"], body["period_s"]) == (5.0, 1.0)
    assert body["contract"]["token_rate_per_s"] == pytest.approx(RATE)

    operator = person("operator")
    operator.goto(page_of)
    panel = operator.get_by_role("region", name="Adapted to traffic")
    expect(panel.get_by_text("Running")).to_be_visible()

    # One broker's publishers send more than their part: it grows, and the sum stays.
    broker = min((name for name in lists if lists[name]), key=lambda name: len(lists[name]))
    in_force = part_at(body, broker)["in_force_rate_per_s"]
    with more_traffic(split, lists[broker][0], broker, in_force) as tally:
        body = wait_adaptation(
            split, address, lambda now: part_at(now, broker)["rate_per_s"] > GROWN * in_force, 90
        )
        assert tally.counts["published"] > 0
        assert body["decisions"]
        row = panel.get_by_role("row", name=re.compile(broker))
        expect(row.get_by_text("more").first).to_be_visible()
        decisions = operator.get_by_role("table", name="Decisions")
        expect(decisions.get_by_text("Done").first).to_be_visible()
        expect(operator.get_by_role("img", name=re.compile("Shares of the rate"))).to_be_visible()
        wait_adaptation(split, address, is_settled)

        # Stop brings the parts back at once, and keeps them, though the traffic stays.
        panel.get_by_role("button", name="Stop").click()
        dialog = operator.get_by_role("dialog")
        expect(dialog.get_by_role("table", name="Parts that change")).to_contain_text(broker)
        dialog.get_by_label(re.compile("Note")).fill("Tried it")
        dialog.get_by_role("button", name="Stop").click()
        expect(panel.get_by_text(re.compile("Stopped by .*Tried it"))).to_be_visible()
        body = wait_adaptation(split, address, is_as_in_force)
        assert body["state"] == "stopped"
        assert body["allowed_commands"] == ["resume"]
        until = time.monotonic() + HELD_S
        while time.monotonic() < until:
            assert is_as_in_force(adaptation_of(split, address))
            time.sleep(0.5)
        for name, part in split.parts().items():
            planned = part_at(body, name)
            assert part["rate_per_s"] == pytest.approx(planned["in_force_rate_per_s"])
            assert part["size"] == pytest.approx(planned["in_force_size"])
    expect(panel.get_by_text("Brokers enforce the parts in force.")).to_be_visible()

    # The plan's inverse ends the order with the parts.
    undo = split.command(split.author, plan, "roll-back", {}, expect=201)
    split.carry_out(undo)
    assert split.parts() == {}
    assert split.everybody.get(address)["state"] == "off"
