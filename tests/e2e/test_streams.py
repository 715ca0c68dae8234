"""A map of the demo's harbour is followed live: subscribers receive while flows change streams."""

import asyncio
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress

import pytest
from playwright.sync_api import Page, expect

from config.stack.parts import brokers
from tests.e2e.desks import AT, put
from tests.e2e.fleet import Fleet
from weir_client.receiving import Lost
from weir_client.subscriber import Subscriber

pytestmark = pytest.mark.e2e


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
                put(rest, row["id"], streams[number % len(streams)])
        rest.wait("/api/v1/hand-overs", lambda now: now["moving"] == 0, 20, system=fleet.system)
        before = desks.count()
        desks.wait(lambda: desks.count() > before + 50)

    assert desks.lost == []
    for each, numbers in desks.numbers.items():
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), each
    assert len(desks.numbers) == len(wanted), "no agent began anew"
