"""A map of the demo's harbour is changed by people in Chromium while its flows are received live:
subscribers filter as little as the plan promised, and miss nothing."""

import asyncio
import json
import math
import re
import threading
import time
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from agent.tasks import end
from config.stack.parts import brokers
from tests.e2e.auditing import AuditedLoad
from tests.e2e.desks import (
    Reception,
    best_effort,
    map_put_back,
    modelled,
    places,
    put,
    reception,
    subscribing,
)
from tests.e2e.fleet import Fleet
from tests.e2e.kept_flow import KeptFlow
from tests.suites import effort
from weir_client.receiving import Lost
from weir_client.subscriber import Subscriber

pytestmark = pytest.mark.e2e

WATCHED = 1_500
"""Wanted messages between two readings of what subscribers got."""
NEAR = 0.15
"""By how much what is measured may differ from what follows from the load. In ten seconds the two
groups of publishers that burst together send up to two fifths more or less of their topic than on
average, which is a tenth of what is filtered: 4 %. Messages on their way while clients and broker
are read, one after the other, are half a second's of some ten: 5 %. Both may add up, at both ends
of a window."""
THERE_AND_BACK = effort(False, True)
MEASURED = "Measured: filtered for each of these"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What subscribers have received at one moment, and what the brokers have sent them."""

    messages: Mapping[tuple[str, str], int]
    """Subscriber and flow -> messages."""
    dropped: int
    unwanted: int
    sent: int
    """To all of the subscribers, as their brokers count it."""


class Desks:
    """Subscribers of the harbour, with what they receive; they run beside the browser's loop."""

    def __init__(self, fleet: Fleet, wants: Mapping[str, tuple[str, list[str]]]) -> None:
        """`wants`: subscriber -> its broker and the flows that it wants."""
        self.numbers: dict[tuple[str, str, int], list[int]] = defaultdict(list)
        """Subscriber, flow and life of its sender -> the numbers of its messages, as they came."""
        self.lost: list[tuple[str, Lost]] = []
        self.wants = {name: flows for name, (_, flows) in wants.items()}
        self.wanted = {(name, flow) for name, flows in self.wants.items() for flow in flows}
        self._at = {name: broker for name, (broker, _) in wants.items()}
        self._fleet = fleet
        self._clients: dict[str, Subscriber] = {}
        self._loop = asyncio.new_event_loop()
        self._enough = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._live(),))

    def __enter__(self) -> "Desks":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.call_soon_threadsafe(self._enough.set)
        self._thread.join(30)
        self._loop.close()

    def flows(self) -> set[tuple[str, str]]:
        return {(name, flow) for name, flow, _ in tuple(self.numbers)}

    def count(self) -> int:
        return sum(map(len, tuple(self.numbers.values())))

    def wait(self, is_so: Callable[[], bool], seconds: float = 60.0) -> None:
        deadline = time.monotonic() + seconds
        while not is_so():
            assert time.monotonic() < deadline, (self.wanted - self.flows(), self.lost)
            time.sleep(0.1)

    def watch(self) -> tuple[Reception, dict[str, int], int]:
        """Read what they receive until they have got so many more messages that they want: of all
        of them, the messages that came of each flow, and what the brokers sent them."""
        before = self._read()
        start = self.count()
        self.wait(lambda: self.count() > start + WATCHED)
        after = self._read()
        grown = Counter(after.messages)
        grown.subtract(before.messages)
        sent: dict[str, int] = {}
        for (_, flow), number in grown.items():
            # Every one of them gets all of it; what is on its way at the end makes a difference.
            sent[flow] = max(sent.get(flow, 0), number)
        seen = Reception(
            wanted=sum(grown.values()),
            unwanted=after.unwanted - before.unwanted,
            dropped=after.dropped - before.dropped,
        )
        return seen, sent, after.sent - before.sent

    def _read(self) -> Reading:
        async def read() -> Reading:
            counts: Counter[tuple[str, str]] = Counter()
            for (name, flow, _), numbers in self.numbers.items():
                counts[name, flow] += len(numbers)
            filtered = [client.filtered for client in self._clients.values()]
            return Reading(
                messages=counts,
                dropped=sum(each.streams for each in filtered),
                unwanted=sum(each.flows for each in filtered),
                sent=self._sent(),
            )

        return asyncio.run_coroutine_threadsafe(read(), self._loop).result(60)

    def _sent(self) -> int:
        """Messages that brokers have sent to these clients, as the brokers count them."""
        sent = 0
        for broker in set(self._at.values()):
            port = brokers.monitor_port_of(self._fleet.weir.site, broker)
            url = f"http://127.0.0.1:{port}/connz?acc=CLIENTS&limit=4096"
            with urllib.request.urlopen(url, timeout=60) as answer:
                rows = json.load(answer)["connections"] or ()
            sent += sum(
                row["out_msgs"] for row in rows if row.get("name", "").split("/")[0] in self._at
            )
        return sent

    async def _live(self) -> None:
        readers = [asyncio.create_task(self._receive(name)) for name in self.wants]
        await self._enough.wait()
        await end(*readers)

    async def _receive(self, name: str) -> None:
        site = self._fleet.weir.site
        url, key = brokers.address_of(site, self._at[name]), site.secrets["clients"]
        async with await Subscriber.connect(url, name=name, key=key) as subscriber:
            self._clients[name] = subscriber
            await subscriber.want(*self.wants[name])
            with suppress(asyncio.CancelledError):
                async for each in subscriber.messages():
                    if isinstance(each, Lost):
                        self.lost.append((name, each))
                    else:
                        self.numbers[name, each.flow, each.life].append(each.number)


def near(seen: float, expected: float) -> bool:
    return abs(seen - expected) <= NEAR * expected


def filtered(fleet: Fleet, desks: Desks, weights: Mapping[str, float]) -> float:
    """Return what filtering costs for each wanted message, as subscribers count it: both layers and
    what brokers send are as the map in force says for just these messages."""
    where = places(fleet)
    seen, sent, on_network = desks.watch()
    expected = reception(desks.wants, where, sent)
    print(f"{seen}, by the map {expected}; sent by brokers {on_network}")
    assert near(seen.work(weights), expected.work(weights)), (seen, expected)
    assert near(seen.unwanted + seen.dropped, expected.unwanted + expected.dropped)
    assert near(on_network, expected.received), (on_network, expected)
    return seen.work(weights)


def wait_shown(force: Locator, expected: float, seconds: float = 60.0) -> float:
    """Until the page shows as measured what is expected: the last of what it showed."""
    figure = force.locator("dt", has_text=MEASURED).locator("xpath=following-sibling::dd[1]")
    expect(figure).to_be_visible()
    deadline = time.monotonic() + seconds
    while not near(shown := float(figure.inner_text().split()[0].removesuffix("work")), expected):
        assert time.monotonic() < deadline, f"shown {shown}, expected {expected}"
        time.sleep(0.5)
    return shown


def drawn(cost: float, costs: Iterable[float]) -> str:
    """Write a cost as the page does beside the others."""
    return f"{math.floor(cost + 0.5)}" if max(costs) >= 99.995 else f"{cost:.2f}"


def map_flows(fleet: Fleet, author: Page) -> Any:
    """Have the flows mapped from the page; the newest mapping, of the model as it is."""
    author.goto(f"/systems/{fleet.system}/mappings")
    author.get_by_role("button", name="Map flows").click()
    author.get_by_role("dialog").get_by_role("button", name="Start run").click()
    # The first of a fresh system waits for Spark's workers, beside whatever else is busy.
    expect(author.get_by_text("Succeeded").first).to_be_visible(timeout=180_000)
    (newest, *_) = fleet.rows("mappings", ordering="-number")
    detail = fleet.everybody.get(f"/api/v1/mappings/{newest['id']}")
    (run,) = [row for row in fleet.rows("runs", kind="mapping") if row["id"] == detail["run"]]
    assert run["state"] == "succeeded"
    return detail


def choose(author: Page, fleet: Fleet, mapping: Any) -> Any:
    """Compare maps, and choose one with the slider: the first that costs less than a third of the
    one in force; its place and its costs."""
    outcome = mapping["outcome"]
    points = outcome["points"]
    author.goto(f"/systems/{fleet.system}/mappings/{mapping['id']}")
    layers = author.get_by_role("region", name="Cost by layer")
    compared = [each["cost"] for each in outcome["compared"]]
    for cost in compared:
        expect(layers).to_contain_text(drawn(cost, compared))
    slider = author.get_by_role("slider", name=re.compile("Flows to move"))
    slider.focus()
    slider.press("Home")
    figures = author.locator(".figs")
    expect(figures).to_contain_text("only what must move")
    place = next(at for at, each in enumerate(points) if 3 * each["cost"] < mapping["former_cost"])
    for _ in range(place):
        slider.press("ArrowRight")
    chosen = points[place]["cost"]
    expect(figures).to_contain_text(drawn(chosen, (chosen, mapping["former_cost"])))
    return place


def carry_out(fleet: Fleet, author: Page, person: Callable[[str], Page], plan: str) -> None:
    """Sent for review by its author, approved by another person, carried out by a third."""
    author.get_by_role("button", name="Send for review").click()
    expect(author.get_by_text("somebody else approves it").first).to_be_visible()
    approver = person("approver")
    approver.goto(f"/plans/{plan}")
    approver.get_by_role("button", name=re.compile("^Approve hash")).click()
    operator = person("operator")
    operator.goto(f"/plans/{plan}")
    operator.get_by_role("button", name="Execute").click()
    operator.get_by_role("dialog").get_by_role("button", name="Execute").click()
    fleet.wait_execution(fleet.execution_of({"id": plan}), "succeeded")
    expect(operator.get_by_text("Succeeded").first).to_be_visible()
    for page in (approver, operator):
        page.goto("about:blank")


def plan_at(author: Page) -> str:
    """The id of the plan whose page is open."""
    expect(author).to_have_url(re.compile("/plans/[0-9a-f-]{36}$"))
    return author.url.rsplit("/", 1)[1]


@pytest.mark.timeout(420)
def test_filtering_falls_as_the_plan_promised_and_nobody_misses_anything(
    fleet: Fleet, person: Callable[[str], Page]
) -> None:
    rest = fleet.everybody
    topics = [row["name"] for row in best_effort(fleet)]
    audited = {"filed": ("rot-1", ("ham-1", "ant-1")), "ledger": ("rot-1", ())}
    with (
        map_put_back(fleet),
        AuditedLoad(fleet, audited, rate_per_s=20.0) as load,
        # At a second broker somebody wants everything, and filters nothing by any map.
        subscribing(fleet, {"overview": ("ant-1", [*topics, load.flows["ledger"]])}),
        # Of each subscriber of the model one more client, of which we know what it receives.
        Desks(fleet, {f"watch-{name}": row for name, row in modelled(fleet).items()}) as desks,
        KeptFlow(fleet, load.flows["ledger"], source="rot-1", reader="ant-1") as ledger,
    ):
        first, *_, last = fleet.rows("streams")
        # So little by the model that it does not show in what is filtered, and bound to move.
        fleet.change(
            *("topics", load.flows["ledger"]),
            rate_min_per_s=0.1,
            rate_max_per_s=0.2,
            stream=first["id"],
            pinned_stream=last["id"],
        )
        load.wait_flowing()
        with ledger.sending():
            ledger.wait(lambda: bool(ledger.received))
        desks.wait(lambda: desks.flows() == desks.wanted)
        author = person("editor")
        mapping = map_flows(fleet, author)
        outcome = mapping["outcome"]
        weights = outcome["weights"]
        place = choose(author, fleet, mapping)
        point = outcome["points"][place]
        former = mapping["former_cost"] / outcome["former_wanted_per_s"]
        promised = point["cost"] / outcome["wanted_per_s"]
        force = author.get_by_role("region", name="In force now")
        wait_shown(force, former)
        before = filtered(fleet, desks, weights)
        assert near(before, former)

        # Planned, approved by somebody else, and carried out.
        author.get_by_role("button", name="Make a plan").click()
        dialog = author.get_by_role("dialog")
        dialog.get_by_label("Moves per step").fill("1")
        dialog.get_by_role("button", name="Make a plan").click()
        plan = plan_at(author)
        assert rest.get(f"/api/v1/plans/{plan}")["promise"] == [
            {
                "name": "Cost of unwanted traffic",
                "unit": "work/s",
                "before": mapping["former_cost"],
                "after": point["cost"],
            }
        ]
        before_plan = len(ledger.sent_at)
        with ledger.sending():
            carry_out(fleet, author, person, plan)
        now = rest.get("/api/v1/hand-overs", system=fleet.system)
        assert now["moving"] == 0
        steps = rest.get(f"/api/v1/plans/{plan}")["steps"]
        actions = [action for step in steps for action in step["actions"]]
        moved = {a["target"]["flow"] for a in actions if a["kind"] == "move_flow"}
        assert load.flows["ledger"] in moved
        assert {row["flow"] for row in now["rows"]} >= moved
        (kept,) = [row for row in now["rows"] if row["flow"] == load.flows["ledger"]]
        assert (kept["from_stream"], kept["to_stream"]) == (first["number"], last["number"])
        began_at = datetime.fromisoformat(kept["began_at"]).timestamp()
        assert (
            ledger.sent_at[before_plan] < began_at < began_at + kept["took_s"] < ledger.sent_at[-1]
        )

        author.goto(f"/systems/{fleet.system}/mappings/{mapping['id']}?map={place}")
        table = author.get_by_role("table", name="Flows on their way")
        for flow in sorted(moved):
            expect(
                table.get_by_role("row", name=re.compile(re.escape(flow))).first
            ).to_contain_text("Done")
        after = filtered(fleet, desks, weights)
        assert near(after, promised)
        wait_shown(force, promised)

        if THERE_AND_BACK:
            # As much is filtered as before.
            author.goto(f"/plans/{plan}")
            author.get_by_role("button", name="Roll back").click()
            author.get_by_role("dialog").get_by_role("button", name="Roll back").click()
            expect(author).not_to_have_url(re.compile(plan))
            with ledger.sending():
                fleet.carry_out(rest.get(f"/api/v1/plans/{plan_at(author)}"))
            assert near(filtered(fleet, desks, weights), former)
            author.goto(f"/systems/{fleet.system}/mappings/{mapping['id']}")
            wait_shown(force, former)

        # Moved by hand, while messages pass.
        streams = [row["id"] for row in fleet.rows("streams")]
        for number, row in enumerate(best_effort(fleet)):
            put(rest, row["id"], streams[number % len(streams)])
        rest.wait("/api/v1/hand-overs", lambda now: now["moving"] == 0, 60, system=fleet.system)
        count = desks.count()
        desks.wait(lambda: desks.count() > count + 50)
        verdict = load.verdict()

    assert verdict.clean, verdict
    assert verdict.delivered > 500, verdict
    assert (desks.lost, ledger.lost) == ([], [])
    assert ledger.received == list(range(ledger.received[0], len(ledger.sent_at) + 1))
    for each, numbers in desks.numbers.items():
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), each
    assert len(desks.numbers) == len(desks.wanted), "no agent began anew"
