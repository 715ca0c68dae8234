"""Agents, subscribers and a publisher killed with -9 while flows change their streams: whoever is
left receives everything that was sent, once and in order, or is told exactly what it missed."""

import json
import random
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import pytest

from config.stack import Stack
from config.stack.parts import brokers
from tests.e2e.api import Api
from tests.e2e.desks import AT, best_effort, put
from tests.e2e.fleet import TOPIC, Fleet
from tests.e2e.test_kills import kill_and_wait

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[2]
SOURCE = "rot-1"
"""Where the topic of our publisher enters."""
MOVE_EVERY_S = 0.25
ROUNDS = 2
Life = tuple[str, str, int]
"""A flow, its sender, and the sender's life."""


class Client:
    """A subscriber or publisher, one process after the other."""

    def __init__(
        self, what: Literal["desk", "feed"], settings: dict[str, Any], folder: Path
    ) -> None:
        self.name: str = settings["name"]
        self.flows: list[str] = settings["flows"]
        self.files: list[Path] = []
        """What each process has written, the newest last."""
        self._what, self._settings, self._folder = what, settings, folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        path = self._folder / f"{self.name}.{len(self.files)}"
        path.touch()
        self.files.append(path)
        settings = json.dumps({**self._settings, "path": str(path)})
        module = [sys.executable, "-m", "tests.e2e.stream_clients"]
        with (self._folder / f"{self.name}.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*module, self._what, settings], cwd=ROOT, stdout=log, stderr=log
            )

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            self._process = None

    def rows(self, number: int = -1) -> list[Any]:
        """What one of its processes has written; a line that it was killed in is no line."""
        whole, _, _ = self.files[number].read_bytes().rpartition(b"\n")
        return [json.loads(line) for line in whole.splitlines()]

    def counts(self) -> Counter[str]:
        """Flow -> messages that the process of now has received."""
        return Counter(row["flow"] for row in self.rows() if "number" in row)

    def losses(self) -> list[Any]:
        return [row for row in self.rows() if "lost" in row]


class Crew:
    """Three desks, and a publisher of one of the flows that they want."""

    def __init__(self, fleet: Fleet, wants: dict[str, list[str]], folder: Path) -> None:
        site = fleet.weir.site

        def client(what: Literal["desk", "feed"], name: str, at: str, flows: list[str]) -> Client:
            url, key = brokers.address_of(site, at), site.secrets["clients"]
            return Client(what, {"url": url, "name": name, "key": key, "flows": flows}, folder)

        self.desks = {name: client("desk", name, AT[name], flows) for name, flows in wants.items()}
        self.feed = client("feed", "feed-1", SOURCE, [TOPIC])

    def __enter__(self) -> "Crew":
        return self

    def start(self) -> None:
        for client in (*self.desks.values(), self.feed):
            client.start()

    def __exit__(self, *error: object) -> None:
        for client in (*self.desks.values(), self.feed):
            client.kill()

    def wait_all_receive(self, *, but: str = "", more: int = 3) -> None:
        """Until each desk has got so many more messages of each flow that it wants."""
        desks = [desk for name, desk in self.desks.items() if name != but]
        before = {desk.name: desk.counts() for desk in desks}
        wait(
            lambda: all(
                desk.counts()[flow] >= before[desk.name][flow] + more
                for desk in desks
                for flow in desk.flows
            ),
            lambda: {desk.name: desk.counts() - before[desk.name] for desk in desks},
        )

    def wait_feed_received(self) -> None:
        """Until each desk that wants it has messages of the publisher's present life."""
        wait(lambda: bool(self.feed.rows()), lambda: "the publisher sends nothing")
        life = self.feed.rows()[0]["life"]
        wanting = [desk for desk in self.desks.values() if TOPIC in desk.flows]
        assert wanting
        wait(
            lambda: all(
                any(row.get("payload", "").startswith(f"{life} ") for row in desk.rows())
                for desk in wanting
            ),
            lambda: f"not everybody has messages of {life}",
        )


def wait(is_so: Callable[[], bool], state: Callable[[], object], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, state()
        time.sleep(0.2)


@contextmanager
def flows_moving(fleet: Fleet, address: str) -> Iterator[list[str]]:
    """Put flows into other streams all the time; the topics that were moved."""
    topics, streams = best_effort(fleet), [row["id"] for row in fleet.rows("streams")]
    chance, moved, errors = random.Random(5), list[str](), list[BaseException]()
    enough = threading.Event()

    def move() -> None:
        api = Api(address)
        try:
            while not enough.wait(MOVE_EVERY_S):
                topic = chance.choice(topics)
                put(api, topic["id"], chance.choice(streams))
                moved.append(topic["name"])
        except BaseException as error:
            errors.append(error)
        finally:
            api.client.close()

    thread = threading.Thread(target=move)
    thread.start()
    try:
        yield moved
    finally:
        enough.set()
        thread.join(30)
    assert errors == []


def settle(fleet: Fleet, wants: dict[str, list[str]]) -> None:
    """Move each flow a last time; come back when every broker has it where the map names it."""
    streams = {row["id"]: row for row in fleet.rows("streams")}
    named: dict[str, int] = {}
    for topic in best_effort(fleet):
        stream = next(each for each in streams.values() if each["id"] != topic["stream"])
        put(fleet.everybody, topic["id"], stream["id"])
        named[topic["name"]] = stream["number"]
    wanted = {(flow, AT[desk]) for desk, flows in wants.items() for flow in flows}

    def is_settled(now: Any) -> bool:
        latest: dict[tuple[str, str], Any] = {}
        for row in sorted(now["rows"], key=lambda row: row["began_at"]):
            latest[row["flow"], row["broker_name"]] = row
        return now["moving"] == 0 and all(
            pair in latest
            and latest[pair]["phase"] == "done"
            and latest[pair]["to_stream"] == named[pair[0]]
            for pair in wanted
        )

    fleet.everybody.wait("/api/v1/hand-overs", is_settled, 30, system=fleet.system)


def check(rows: list[Any], where: str) -> None:
    """Check what one process of a subscriber got: nothing twice, nothing out of order, and every
    gap reported, no more and no less."""
    numbers: dict[Life, list[int]] = defaultdict(list)
    lost: dict[Life, list[int]] = defaultdict(list)
    payloads: dict[tuple[Life, str, str], list[int]] = defaultdict(list)
    for row in rows:
        life = row["flow"], row["sender"], row["life"]
        if "lost" in row:
            first, last = row["lost"]
            lost[life] += range(first, last + 1)
        else:
            numbers[life].append(row["number"])
            of_life, who, number = row["payload"].split(" ")
            payloads[life, of_life, who].append(int(number))
    for life in numbers.keys() | lost.keys():
        assert all(one < other for one, other in pairwise(numbers[life])), (where, life)
        seen = sorted(numbers[life] + lost[life])
        assert seen == list(range(seen[0], seen[0] + len(seen))), (where, life, lost[life])
    for sent, counted in payloads.items():
        assert all(one < other for one, other in pairwise(counted)), (where, sent)


@pytest.mark.timeout(420)
def test_whoever_is_killed_while_flows_move_nobody_else_misses_anything(
    weir: Stack, fleet: Fleet, wants: dict[str, list[str]], address: str, tmp_path: Path
) -> None:
    with fleet.wide_gate(), Crew(fleet, wants, tmp_path) as crew:
        crew.start()
        crew.wait_all_receive()
        crew.wait_feed_received()
        with flows_moving(fleet, address) as moved:
            crew.wait_all_receive()

            # An agent beside two of the subscribers, and later the other one's.
            for part in ("agent-ham-1", "agent-ant-1"):
                kill_and_wait(weir, part)
                crew.wait_all_receive()

            # A subscriber: the others miss nothing, and it finds its flows again.
            before = {name: desk.losses() for name, desk in crew.desks.items()}
            crew.desks["desk-1"].kill()
            crew.wait_all_receive(but="desk-1", more=10)
            crew.desks["desk-1"].start()
            crew.wait_all_receive(more=10)
            for name in ("desk-2", "desk-3"):
                assert crew.desks[name].losses() == before[name]

            # The publisher: its flow goes on with its next life.
            crew.feed.kill()
            crew.wait_all_receive()
            crew.feed.start()
            crew.wait_feed_received()

            # A broker: what its subscribers cannot be given meanwhile is lost, and reported.
            kill_and_wait(weir, "broker-ham-1")
            crew.wait_all_receive()
            assert crew.desks["desk-2"].losses()

            # All of it within a moment.
            for _ in range(ROUNDS):
                crew.desks["desk-3"].kill()
                crew.feed.kill()
                kill_and_wait(weir, "agent-ham-1")
                crew.desks["desk-3"].start()
                crew.feed.start()
                crew.wait_all_receive(more=10)
                crew.wait_feed_received()
        assert len(moved) > 30
        settle(fleet, wants)
        crew.wait_all_receive()

    for desk in crew.desks.values():
        for number, path in enumerate(desk.files):
            check(desk.rows(number), path.name)
    lives: dict[str, set[Life]] = defaultdict(set)
    for row in crew.desks["desk-2"].rows():
        lives[row["flow"]].add((row["flow"], row["sender"], row["life"]))
    assert {len(each) for each in lives.values()} == {2 + ROUNDS}, "as often its agent began"
