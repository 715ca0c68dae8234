"""LB, Max-Min and SRTM on the demo's fleet of six NATS brokers, side by side (paper, section 6.4).

    python -m benchmarks.srtm.fleet [--state DIR] [--repeats N] [--seconds S] [--out FILE]

Starts the whole system without the demo's traffic, so that its six brokers are idle, and adds a
topic over REST: groups of publishers that send at the same moment (group by group a Poisson
process), each with its correlation key, as many messages per publisher as in the paper. Tokens flow
in 10 % faster than messages; the bucket is the smallest with which 99 % of the messages find one at
one broker, as the product computes it. Then, as people would: the topic is placed by one method,
the plan made, approved and carried out, and real publishers, moved by the agents, send. What each
broker's messages waited is the agents' own measurement, as the page of the placement shows it.

Methods take turns, so that a machine that drifts favours none, and every method of one turn gets
the same moments of sending: what differs is who is where. These moments are known, so each row has
beside what was measured what exact token buckets of those parts would have made of them.

A run takes about three minutes, its row is written when it ends, and `--resume` goes on where the
command was cut off. The state directory stays: it is needed for that, and may be deleted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import uvloop

from agent.drivers.nats import names
from agent.drivers.nats.server_config import PUBLISHER_USER
from agent.publisher import Access, Publisher, PublisherTraffic, Tally
from agent.tasks import end
from config.stack import Stack
from config.stack.parts import PARTS, brokers
from config.stack.parts.fleet import addresses
from tests.e2e.api import ended
from tests.e2e.fleet import Fleet
from weir.coordination.wire import token
from weir.queueing.traces import delays_s, work_of_batches
from weir_client.following import connect, leave

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

TOPIC, CLASS = "correlated", "correlated.reader"
SOURCE, READER = "rot-1", "ham-1"
METHODS = ("load_balanced", "max_min", "srtm")
HEADROOM = 1.1
"""Token rate over message rate, as in the paper."""
BROKERS_NEEDED = 3
"""A broker's publish rate is such that so many hold the topic: half of the fleet, so that the
methods which take the fewest brokers still have to split it."""
SPARE = 1.1
"""Publish rate of a broker over its part of the topic at that many brokers."""
WAITED_S = 0.1
"""What arrives later than this after it was sent counts as having waited: the way itself takes a
few milliseconds, and tens on a busy machine. So it is counted in what is computed, too."""
SETTLE_S, DRAIN_S = 3.0, 20.0
LIFE = "srtm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Publishers in groups, each of which sends at the same moments."""

    groups: int
    size: int
    """Publishers of each group."""
    rate_per_s: float
    """Messages per second of each publisher: so often a group sends."""

    @property
    def publishers(self) -> dict[str, list[str]]:
        """Return the names of the publishers of each group."""
        return {
            f"{TOPIC}-{group}": [f"{TOPIC}/{group}-{one}" for one in range(1, self.size + 1)]
            for group in range(1, self.groups + 1)
        }

    @property
    def whole_per_s(self) -> float:
        """Return the messages per second of all publishers."""
        return self.groups * self.size * self.rate_per_s

    def moments(self, seconds: float, seed: int) -> list[tuple[float, str]]:
        """Return when each group sends, in seconds from the start, ascending."""
        random = np.random.default_rng(seed)
        moments = []
        for group in self.publishers:
            count = random.poisson(self.rate_per_s * seconds)
            moments += [(float(at), group) for at in random.uniform(0.0, seconds, count)]
        return sorted(moments)


class Clients:
    """Publishers and one reader of the topic, on an event loop of their own."""

    def __init__(self, access: Access, workload: Workload) -> None:
        self._access, self._workload = access, workload
        self._tally = Tally()
        self._publishers: dict[str, Publisher] = {}
        self._sent: dict[tuple[str, int], float] = {}
        """Publisher and number of a message -> when it was sent."""
        self._delays_s: list[float] = []
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._tasks: list[asyncio.Task[None]] = []
        self._client: Client | None = None

    def start(self) -> None:
        """Connect everybody; publishers stay connected, and move as agents bid them."""
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(60.0)

    def close(self) -> None:
        """Disconnect everybody, and end the loop."""
        if not self._thread.is_alive():
            return
        with suppress(Exception):
            asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(30.0)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10.0)

    def play(self, moments: Sequence[tuple[float, str]]) -> tuple[int, Floats]:
        """Send at these moments, and wait until all has arrived, `DRAIN_S` at most; return how many
        were sent, and the delay of each that arrived, in seconds."""
        playing = asyncio.run_coroutine_threadsafe(self._play(moments), self._loop)
        return playing.result()

    async def _start(self) -> None:
        for name in chain.from_iterable(self._workload.publishers.values()):
            own = PublisherTraffic(
                name=name, flow=TOPIC, broker=SOURCE, reliable=False, rate_per_s=0.0
            )
            one = Publisher(own, access=self._access, tally=self._tally, life=LIFE)
            self._publishers[name] = one
            self._tasks.append(asyncio.create_task(one.run()))
        self._client = await connect(
            self._access.brokers[READER],
            user=CLASS,
            password=self._access.client_key,
            name=f"{CLASS}#1",
            inbox=names.class_inbox(CLASS),
            closed=asyncio.Event(),
        )
        await self._client.subscribe(names.delivery_subject(TOPIC), cb=self._arrived)

    async def _arrived(self, message: Msg) -> None:
        _, who, number = message.data.decode().split(" ")
        sent = self._sent.pop((who, int(number)), None)
        if sent is not None:
            self._delays_s.append(time.monotonic() - sent)

    async def _play(self, moments: Sequence[tuple[float, str]]) -> tuple[int, Floats]:
        self._sent.clear()
        self._delays_s = []
        groups, sent = self._workload.publishers, 0
        began = time.monotonic()
        for at, group in moments:
            wait_s = began + at - time.monotonic()
            if wait_s > 0:
                await asyncio.sleep(wait_s)
            for name in groups[group]:
                one, who = self._publishers[name], token(name)
                number = one.number + 1
                while (who, number) in self._sent:  # it has not come to that one yet
                    number += 1
                self._sent[who, number] = time.monotonic()
                one.burst(1)
                sent += 1
        until = time.monotonic() + DRAIN_S
        while self._sent and time.monotonic() < until:
            await asyncio.sleep(0.2)
        return sent, np.array(self._delays_s)

    async def _close(self) -> None:
        await end(*self._tasks)
        if self._client is not None:
            await leave(self._client)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one placement in force made of one series of moments."""

    method: str
    number: int
    """Of the turn, from 1 on."""
    placement: Mapping[str, Any]
    """As `/placements/{id}` shows it."""
    measured: Sequence[Mapping[str, Any]]
    """A row a broker, as `/placements/{id}/rounds` shows them."""
    groups: Mapping[str, Mapping[str, int]]
    """Broker -> group -> its publishers there."""
    seconds: float
    sent: int
    delays_s: Floats = field(repr=False)
    """Of each message that arrived, from its publisher to the reader."""
    computed_s: Mapping[str, Floats] = field(repr=False)
    """Broker -> what each of its messages would have waited in an exact token bucket."""


def computed_delays_s(
    moments: Sequence[tuple[float, str]],
    groups: Mapping[str, Mapping[str, int]],
    parts: Mapping[str, tuple[float, float]],
) -> dict[str, Floats]:
    """Return what each message of a broker waits in an exact token bucket, full at first, in
    seconds; `groups`: broker -> group -> publishers there, `parts`: broker -> (tokens per second,
    size)."""
    waits = {}
    for broker, here in groups.items():
        rate, size = parts[broker]
        rows = [(at, here[group]) for at, group in moments if here.get(group)]
        times = np.array([at for at, _ in rows])
        counts = np.array([count for _, count in rows], dtype=np.int64)
        first = np.repeat(work_of_batches(times, counts, rate), counts)
        before = np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)
        waits[broker] = delays_s(first + before, rate_per_s=rate, size=size)
    return waits


def p99_s(delays: Floats) -> float:
    """Return what 1 % of the delays exceed, 0 where there are none."""
    return float(np.quantile(delays, 0.99, method="inverted_cdf")) if len(delays) else 0.0


def row_of(run: Run) -> dict[str, Any]:
    """Return the row of the table: percentiles of a broker are of the slowest one, whose messages
    the placement is judged by; means and shares are of all messages."""
    shares = [share for share in run.placement["outcome"]["shares"] if share["publishers"]]
    slowest = max(run.measured, key=lambda row: float(row["p99_s"]))
    messages = sum(row["messages"] for row in run.measured)
    computed = np.concatenate(list(run.computed_s.values()))
    by_broker = []
    for share in shares:
        (row,) = [row for row in run.measured if row["broker"] == share["broker"]]
        by_broker.append(
            {
                "broker": share["broker"],
                "publishers": share["publishers"],
                "groups": dict(sorted(run.groups[share["broker"]].items())),
                "token_rate_per_s": share["token_rate_per_s"],
                "bucket": share["bucket"],
                "predicted_p99_s": share["wait_p99_s"],
                "computed_p99_s": p99_s(run.computed_s[share["broker"]]),
                **{
                    name: row[name]
                    for name in (
                        *("p99_s", "low_s", "high_s", "processing_p99_s"),
                        *("messages", "seconds"),
                    )
                },
            }
        )
    return {
        "method": run.method,
        "run": run.number,
        "placement": run.placement["name"],
        "brokers": len(shares),
        "predicted_p99_s": max(share["wait_p99_s"] for share in shares),
        "computed_p99_s": max(map(p99_s, run.computed_s.values())),
        "p99_s": slowest["p99_s"],
        "low_s": slowest["low_s"],
        "high_s": slowest["high_s"],
        "processing_p99_s": max(row["processing_p99_s"] for row in run.measured),
        "topic_p99_s": p99_s(run.delays_s),
        "topic_mean_s": float(run.delays_s.mean()),
        "waited_share": float((run.delays_s > WAITED_S).mean()),
        "computed_topic_p99_s": p99_s(computed),
        "computed_topic_mean_s": float(computed.mean()),
        "computed_waited_share": float((computed > WAITED_S).mean()),
        "messages": messages,
        "sent": run.sent,
        "delivered": len(run.delays_s),
        "seconds": run.seconds,
        "by_broker": by_broker,
    }


class Bench:
    """The topic on the running fleet: set up, and placed by one method after the other."""

    def __init__(self, fleet: Fleet, clients: Clients, workload: Workload) -> None:
        self._fleet, self._clients, self._workload = fleet, clients, workload
        self.topic: dict[str, Any] = {}
        self._lists: dict[str, Sequence[str]] = {}
        """Broker -> who is let in there, as the plans so far have left it."""

    def _add(self, kind: str, **values: Any) -> Any:
        body = {"system": self._fleet.system, **values}
        return self._fleet.do(self._fleet.everybody, kind, body, expect=201)

    def set_up(self) -> None:
        """Make the brokers idle, in the model as they are, and add the topic and its contract."""
        fleet, work = self._fleet, self._workload
        for row in fleet.rows("publishers"):
            if row["rate_per_s"]:
                fleet.change("publishers", row["name"], rate_per_s=0.0)
        places = {row["name"]: row["id"] for row in fleet.rows("brokers")}
        # One broker for all, until the product has computed the bucket for that.
        self._give_room(places, SPARE * work.whole_per_s)
        rate = round(HEADROOM * work.whole_per_s, 3)
        contract = {"token_rate_per_s": rate, "token_bucket": rate}
        topic = self._add(
            "topics",
            name=TOPIC,
            delivery="best_effort",
            source=places[SOURCE],
            rate_max_per_s=rate,
            **contract,
        )
        utility = fleet.rows("utility-functions")[0]
        self._add(
            "consumer-classes",
            name=CLASS,
            topic=topic["id"],
            broker=places[READER],
            utility=utility["id"],
            tier="gold",
            population_max=1,
        )
        for group, publishers in work.publishers.items():
            key = self._add("correlation-keys", name=group)
            for name in publishers:
                self._add(
                    "publishers",
                    name=name,
                    topic=topic["id"],
                    broker=places[SOURCE],
                    correlation_key=key["id"],
                    rate_per_s=work.rate_per_s,
                )
        curve = self._placed(topic, "srtm", seed=0)["outcome"]["curve"]
        (one,) = [option for option in curve if option["brokers"] == 1]
        contract["token_bucket"] = round(one["free_bucket"], 3)
        fleet.change("topics", TOPIC, **contract)
        most = round(SPARE * work.whole_per_s / BROKERS_NEEDED, 3)
        self._give_room(places, most)
        fleet.bring_model_into_force()
        self.topic = {
            **contract,
            "id": topic["id"],
            "rate_per_s": work.whole_per_s,
            "groups": work.groups,
            "publishers_per_group": work.size,
            "publisher_rate_per_s": work.rate_per_s,
            "publish_rate_max_per_s": most,
        }

    def _give_room(self, these: Iterable[str], most_per_s: float) -> None:
        for broker in these:
            self._fleet.change("brokers", broker, publish_rate_max_per_s=round(most_per_s, 3))

    def _placed(self, topic: Mapping[str, Any], method: str, *, seed: int) -> Any:
        fleet = self._fleet
        # Whoever is placed already would stay: without an objective nothing asks anybody to move.
        parameters = {"stay": False} if method == "srtm" else {}
        request = {
            "system": fleet.system,
            "topic": topic["id"],
            "method": method,
            "parameters": parameters,
            "seed": seed,
        }
        run = fleet.do(fleet.author, "placements", request, expect=202)
        run = fleet.everybody.wait(f"/api/v1/runs/{run['id']}", ended, 120)
        if run["state"] != "succeeded":
            raise RuntimeError(f"placement by {method}: {run['failure']}")
        return fleet.everybody.get(f"/api/v1/placements/{run['answer']['id']}")

    def run(self, method: str, number: int, seconds: float) -> Run:
        """Place the topic, carry the plan out, send, and read what agents measured."""
        fleet, work = self._fleet, self._workload
        placement = self._placed(self.topic, method, seed=number)
        plan = fleet.do(fleet.author, f"placements/{placement['id']}/plan", {}, expect=201)
        fleet.carry_out(plan)
        here = self._publishers_after(plan)
        fleet.wait_publishers(here, 120.0)
        # Publishers have just come; buckets are full again.
        time.sleep(SETTLE_S)
        moments = work.moments(seconds, seed=number)
        sent, delays = self._clients.play(moments)
        time.sleep(SETTLE_S)
        line = fleet.everybody.get(f"/api/v1/placements/{placement['id']}/rounds")
        (placed,) = line["results"]
        if not placed["is_in_force"] or placed["measured"] is None:
            raise RuntimeError(f"{placement['name']}: {line['because']}")
        key_of = {name: key for key, those in work.publishers.items() for name in those}
        groups: dict[str, dict[str, int]] = {}
        for broker, publishers in here.items():
            for name in publishers:
                at = groups.setdefault(broker, {})
                at[key_of[name]] = at.get(key_of[name], 0) + 1
        parts = {
            share["broker"]: (share["token_rate_per_s"], share["bucket"])
            for share in placement["outcome"]["shares"]
            if share["publishers"]
        }
        return Run(
            method=method,
            number=number,
            placement=placement,
            measured=placed["measured"]["brokers"],
            groups=groups,
            seconds=seconds,
            sent=sent,
            delays_s=delays,
            computed_s=computed_delays_s(moments, groups, parts),
        )

    def _publishers_after(self, plan: Any) -> dict[str, list[str]]:
        """Return who is let in where once the plan has been carried out; it says what changes."""
        exported = self._fleet.everybody.get(f"/api/v1/plans/{plan['id']}/export")
        for action in chain.from_iterable(step["actions"] for step in exported["plan"]["steps"]):
            if action["kind"] == "assign_publishers":
                after = action["after"]
                self._lists[action["target"]["broker"]] = after["publishers"] if after else []
        return {broker: list(those) for broker, those in self._lists.items() if those}


HEADER = (
    f"{'method':<15}{'run':>4}{'brokers':>9}{'predicted':>11}{'computed':>10}{'measured p99':>14}"
    f"{'interval':>18}{'end to end':>12}{'mean':>7}{'waited':>8}{'messages':>10}{'seconds':>9}"
)


def line_of(row: Mapping[str, Any]) -> str:
    """Return a row of the table; times in milliseconds."""

    def ms(value: float | None) -> str:
        return "-" if value is None else f"{value * 1000:,.0f}"

    interval = f"{ms(row['low_s'])} to {ms(row['high_s'])}"
    return (
        f"{row['method']:<15}{row['run']:>4}{row['brokers']:>9}{ms(row['predicted_p99_s']):>11}"
        f"{ms(row['computed_p99_s']):>10}{ms(row['p99_s']):>14}{interval:>18}{ms(row['topic_p99_s']):>12}"
        f"{ms(row['topic_mean_s']):>7}{row['waited_share']:>8.1%}{row['messages']:>10,}"
        f"{row['seconds']:>9.0f}"
    )


@contextmanager
def running(state: Path) -> Iterator[Stack]:
    """Give the whole system without the demo's traffic; it ends with the context."""
    stack = Stack(state_dir=state, parts=[name for name in PARTS if name != "traffic"])
    stack.up()
    try:
        yield stack
    finally:
        stack.down()


def measure(
    stack: Stack,
    workload: Workload,
    *,
    methods: Sequence[str],
    repeats: int,
    seconds: float,
    before: Mapping[str, Any] | None = None,
) -> Iterator[dict[str, Any]]:
    """Give the topic and the rows of the runs so far after each run, the methods in turn; `before`:
    what was given last when it was cut off, to go on from there."""
    access = Access(
        brokers=addresses(stack.site),
        publisher=PUBLISHER_USER,
        client_key=stack.site.secrets["clients"],
    )
    fleet = Fleet(stack, stack.environment()["WEIR_WEB_URL"])
    clients = Clients(access, workload)
    try:
        fleet.wait_live()
        bench = Bench(fleet, clients, workload)
        if before is None:
            bench.set_up()
        else:
            (topic,) = fleet.rows("topics", name=TOPIC)
            bench.topic = {**before["topic"], "id": topic["id"]}
        clients.start()
        known = {
            "measured_on": datetime.now(UTC).date().isoformat(),
            "command": "python -m benchmarks.srtm.fleet",
            "processors": os.cpu_count(),
            "fleet_brokers": len(brokers.NAMES),
            "waited_beyond_s": WAITED_S,
            "topic": {name: value for name, value in bench.topic.items() if name != "id"},
        }
        rows: list[dict[str, Any]] = list(before["rows"]) if before else []
        there = {(row["method"], row["run"]) for row in rows}
        for number in range(1, repeats + 1):
            for method in methods:
                if (method, number) in there:
                    continue
                row = row_of(bench.run(method, number, seconds))
                # Of all that runs on the machine, of others as well.
                rows.append({**row, "load_1_min": os.getloadavg()[0]})
                yield {**known, "rows": rows}
    finally:
        clients.close()
        fleet.close()


def main() -> None:
    """Print the table, and write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--state", type=Path, default=Path("var/srtm-fleet"), help="of a system of its own"
    )
    parser.add_argument("--groups", type=int, default=8)
    parser.add_argument("--size", type=int, default=6, help="publishers of each group")
    parser.add_argument("--rate", type=float, default=10.0, help="messages/s of each publisher")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=165.0, help="of each run")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--out", type=Path, default=Path("benchmarks/srtm/fleet.json"))
    parser.add_argument(
        "--resume", action="store_true", help="run what --out lacks, on the system that is there"
    )
    options = parser.parse_args()
    if options.state.exists() and not options.resume:
        raise SystemExit(f"{options.state}: exists; name the state directory of no other system")
    before = json.loads(options.out.read_text()) if options.resume else None
    workload = Workload(groups=options.groups, size=options.size, rate_per_s=options.rate)
    print(f"times in ms\n{HEADER}", flush=True)
    with running(options.state) as stack:
        for known in measure(
            stack,
            workload,
            methods=options.methods.split(","),
            repeats=options.repeats,
            seconds=options.seconds,
            before=before,
        ):
            print(line_of(known["rows"][-1]), flush=True)
            options.out.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
