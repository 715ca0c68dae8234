"""A map of the demo's harbour is followed live: subscribers receive while flows change streams."""

import asyncio
import random
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from config.stack.parts import brokers
from tests.e2e.fleet import Fleet
from weir_client.receiving import Lost
from weir_client.subscriber import Subscriber

pytestmark = pytest.mark.e2e

AT = {"desk-1": "ham-1", "desk-2": "ham-1", "desk-3": "ant-1"}
"""Subscriber -> its broker."""


class Desks:
    """Subscribers of the harbour, with what they receive; they run beside the browser's loop."""

    def __init__(self, fleet: Fleet, wants: dict[str, list[str]]) -> None:
        self.numbers: dict[tuple[str, str, int], list[int]] = defaultdict(list)
        """Subscriber, flow and life of its sender -> the numbers of its messages, as they came."""
        self.lost: list[tuple[str, Lost]] = []
        self._fleet = fleet
        self._wants = wants
        self._enough = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._live()))

    def __enter__(self) -> "Desks":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._enough.set()
        self._thread.join(30)

    def flows(self) -> set[tuple[str, str]]:
        return {(name, flow) for name, flow, _ in tuple(self.numbers)}

    def count(self) -> int:
        return sum(map(len, tuple(self.numbers.values())))

    def wait(self, is_so: Callable[[], bool], seconds: float = 60.0) -> None:
        deadline = time.monotonic() + seconds
        while not is_so():
            assert time.monotonic() < deadline, (self.flows(), self.lost)
            time.sleep(0.1)

    async def _live(self) -> None:
        readers = [asyncio.create_task(self._read(name)) for name in self._wants]
        await asyncio.to_thread(self._enough.wait)
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)

    async def _read(self, name: str) -> None:
        site = self._fleet.weir.site
        url, key = brokers.address_of(site, AT[name]), site.secrets["clients"]
        async with await Subscriber.connect(url, name=name, key=key) as subscriber:
            await subscriber.want(*self._wants[name])
            with suppress(asyncio.CancelledError):
                async for each in subscriber.messages():
                    if isinstance(each, Lost):
                        self.lost.append((name, each))
                    else:
                        self.numbers[name, each.flow, each.life].append(each.number)


@pytest.fixture
def wants(fleet: Fleet) -> Iterator[dict[str, list[str]]]:
    """Subscribers in the harbour's model, and its best-effort topics on streams in two groups;
    who wants which flows."""
    made: list[str] = []
    client = fleet.everybody.client

    def make(kind: str, **values: Any) -> str:
        answer = fleet.everybody.post(f"/api/v1/{kind}", {"system": fleet.system, **values})
        assert answer.status_code == 201, answer.text
        made.append(f"/api/v1/{kind}/{answer.json()['id']}")
        return str(answer.json()["id"])

    topics = [row for row in fleet.rows("topics") if row["delivery"] == "best_effort"]
    here = {row["name"]: row["id"] for row in fleet.rows("brokers")}
    groups = [make("groups", name=f"g-{number}", number=number) for number in range(2)]
    streams = [
        make("streams", name=f"s-{number}", number=number, group=groups[number % 2])
        for number in range(4)
    ]
    wants: dict[str, list[str]] = {}
    for at, (name, broker) in enumerate(AT.items()):
        wanted = [topics[(at + step) % len(topics)] for step in range(3)]
        wants[name] = [row["name"] for row in wanted]
        interests = [{"topic": row["id"]} for row in wanted]
        make("subscribers", name=name, broker=here[broker], interests=interests)
    pick = random.Random(3)
    for row in topics:
        put(fleet, row["id"], pick.choice(streams))
    yield wants
    for row in topics:
        put(fleet, row["id"], None)
    for address in reversed(made):
        tag = client.get(address).headers["ETag"]
        answer = client.delete(address, headers={"If-Match": tag})
        assert answer.status_code == 204, answer.text


def put(fleet: Fleet, topic: str, stream: str | None) -> None:
    """Put a topic into a stream, by hand."""
    client, address = fleet.everybody.client, f"/api/v1/topics/{topic}"
    tag = client.get(address).headers["ETag"]
    answer = client.patch(address, json={"stream": stream}, headers={"If-Match": tag})
    assert answer.status_code == 200, answer.text


def test_subscribers_follow_a_plan_of_a_map_and_miss_nothing(
    fleet: Fleet, wants: dict[str, list[str]], person: Callable[[str], Page]
) -> None:
    rest = fleet.everybody
    wanted = {(name, flow) for name, flows in wants.items() for flow in flows}
    with Desks(fleet, wants) as desks:
        desks.wait(lambda: desks.flows() == wanted)

        # A map is made and carried out by a plan; each move waits for the brokers that follow it.
        run = rest.post("/api/v1/mappings", {"system": fleet.system})
        assert run.status_code == 202, run.text
        rest.wait(run.headers["Location"], lambda r: r["state"] not in ("queued", "running"), 60)
        mapping = rest.get("/api/v1/mappings", system=fleet.system)["results"][0]
        assert mapping["moved"] > 0
        page = person("demo")
        page.goto(f"/systems/{fleet.system}/mappings/{mapping['id']}")
        moving = page.get_by_role("region", name="Flows on their way")
        expect(moving).to_contain_text("brokers send flows on streams")
        plan = fleet.do(
            fleet.author, f"mappings/{mapping['id']}/plan", {"moves_per_step": 1}, expect=201
        )
        fleet.carry_out(plan)
        now = rest.get("/api/v1/hand-overs", system=fleet.system)
        assert now["moving"] == 0
        moved = {
            action["target"]["flow"]
            for step in rest.get(f"/api/v1/plans/{plan['id']}")["steps"]
            for action in step["actions"]
            if action["kind"] == "move_flow"
        }
        sent = {flow for _, flow in wanted}
        assert {row["flow"] for row in now["rows"]} >= moved & sent
        table = moving.get_by_role("table", name="Flows on their way")
        for flow in sorted(moved & sent):
            expect(
                table.get_by_role("row", name=re.compile(re.escape(flow))).first
            ).to_contain_text("Done")

        # Taken back, and moved by hand, while messages pass.
        fleet.carry_out(fleet.do(fleet.author, f"plans/{plan['id']}/roll-back", expect=201))
        streams = [row["id"] for row in fleet.rows("streams")]
        for number, row in enumerate(fleet.rows("topics")):
            if row["delivery"] == "best_effort":
                put(fleet, row["id"], streams[number % len(streams)])
        rest.wait("/api/v1/hand-overs", lambda now: now["moving"] == 0, 20, system=fleet.system)
        before = desks.count()
        desks.wait(lambda: desks.count() > before + 50)

    assert desks.lost == []
    for each, numbers in desks.numbers.items():
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), each
    assert len(desks.numbers) == len(wanted), "no agent began anew"
