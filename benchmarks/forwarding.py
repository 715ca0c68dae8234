"""What forwarding costs: the agent's data plane against a bare nats-py relay, in the same run.

    python -m benchmarks.forwarding [--messages N] [--fleet]

Forwarding: messages per second of the forwarding process's own processor time, one target each,
100 bytes, both delivery classes, and through gates that hold nothing, where the agent measures the
wait of every message. Price of durability: messages stored per second with
`sync_interval: always` and with the default. `--fleet` adds what needs six brokers and agents:
pause per shift, time of aborts. Rate error: the gate under five times its rate.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median

from agent.drivers.nats import jetstream, streams, wire
from agent.drivers.nats.connection import Connection
from agent.drivers.nats.driver import NatsDriver
from agent.drivers.nats.session import Session
from agent.drivers.nats.stream_writer import POSITION, Outgoing, StreamWriter
from agent.router import Router
from benchmarks.fleet.fleet import Fleet
from benchmarks.fleet.six_brokers import system, under_load
from tests.nats_server import NatsServer
from weir.coordination.tables import Tables
from weir.coordination.wire import Delivery, FlowSpec, Gate

PAYLOAD = b"x" * 100
WINDOW = 1_000
LIMIT_S = 300
REPEATS = 3


class Child:
    """A forwarding process whose processor time we ask for."""

    def __init__(self, *command: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if self._read() != "ready":
            raise RuntimeError(f"{command} did not start")

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def cpu_s(self) -> float:
        """User and system time so far."""
        assert self._process.stdin is not None
        self._process.stdin.write("cpu\n")
        self._process.stdin.flush()
        return float(json.loads(self._read()))

    def end(self) -> None:
        """Let it go."""
        self._process.communicate("end\n", timeout=20)


@contextmanager
def child(*command: str) -> Iterator[Child]:
    """A forwarding process, ended at the end."""
    process = Child(*command)
    try:
        yield process
    finally:
        process.end()


async def core_load(url: str, source: str, target: str, count: int) -> float:
    """Send `count` messages, never more than `WINDOW` unseen; seconds until all have come out."""
    connection = await Connection.open(url, name="load")
    seen, news = 0, asyncio.Event()

    def arrived(frames: list[wire.Frame]) -> None:
        nonlocal seen
        seen += len(frames)
        news.set()

    connection.subscribe(target, arrived)
    await connection.flush()
    chunk = wire.publication(source.encode(), PAYLOAD) * (WINDOW // 4)
    sent, start = 0, time.perf_counter()
    while seen < count:
        while sent < count and sent - seen <= WINDOW - WINDOW // 4:
            connection.write(chunk)
            sent += WINDOW // 4
        news.clear()
        async with asyncio.timeout(10):
            await news.wait()
    took_s = time.perf_counter() - start
    connection.close()
    return took_s


async def reliable_load(url: str, stream: str, subject: str, target: str, count: int) -> float:
    """Fill a stream, then wait until another one holds as much; seconds from the first message."""
    session = Session(url, name="load").start()
    connection = await session.connection(5)
    before = await jetstream.stream_state(connection, target)
    assert before is not None
    writer = StreamWriter(session, stream)
    start = time.perf_counter()
    jobs = [
        asyncio.create_task(
            writer.append([Outgoing(subject.encode(), 0, b"", PAYLOAD)] * min(500, count - at))
        )
        for at in range(0, count, 500)
    ]
    await asyncio.gather(*jobs)
    while True:
        state = await jetstream.stream_state(connection, target)
        assert state is not None
        if state.last - before.last >= count:
            break
        await asyncio.sleep(0.02)
    took_s = time.perf_counter() - start
    await writer.close()
    await session.close()
    return took_s


def forwarding(directory: Path, messages: int) -> None:
    """The table of messages per processor second."""
    rows = []
    with NatsServer(directory / "forwarding", sync_always=True) as server:
        asyncio.run(_streams(server.url))
        agent = ("benchmarks.planes", server.url)
        for name, commands, load in (
            (
                "best effort",
                {
                    "": agent,
                    "gated": (*agent, "gated"),
                    "relay": (
                        *("benchmarks.relays", "core", server.url),
                        *("weir.in.relay", "weir.msg.relay"),
                    ),
                },
                lambda flow: core_load(server.url, f"weir.in.{flow}", f"weir.msg.{flow}", messages),
            ),
            (
                "reliable",
                {
                    "": agent,
                    "gated": (*agent, "gated"),
                    "relay": ("benchmarks.relays", "reliable", server.url, "RELAY_IN", "relay.out"),
                },
                lambda flow: reliable_load(
                    server.url,
                    "WEIR_IN_rel" if flow == "rel" else "RELAY_IN",
                    "weir.in.rel" if flow == "rel" else "relay.in",
                    "WEIR_MSG_rel" if flow == "rel" else "RELAY_OUT",
                    messages // 5,
                ),
            ),
        ):
            count = messages if name == "best effort" else messages // 5
            figures = []
            for kind, command in commands.items():
                own = "core" if name == "best effort" else "rel"
                flow = "relay" if kind == "relay" else own
                with child(*command) as process:
                    if flow == "rel":
                        asyncio.run(_allow_batches(server.url))
                    rates, speeds = [], []
                    for _ in range(REPEATS):
                        cpu_s = process.cpu_s()
                        took_s = asyncio.run(asyncio.wait_for(load(flow), LIMIT_S))
                        rates.append(count / (process.cpu_s() - cpu_s))
                        speeds.append(count / took_s)
                    figures.append((median(rates), median(speeds)))
            rows.append((name, *figures))
    print("forwarding, messages per second of the process's own processor time (and of the clock)")
    print(f"{'':14}{'agent':>22}{'behind a gate':>22}{'nats-py relay':>22}{'ratio':>8}")
    for name, *figures in rows:
        texts = [f"{rate:,.0f} ({speed:,.0f})" for rate, speed in figures]
        cells = "".join(f"{text:>22}" for text in texts)
        print(f"{name:14}{cells}{figures[0][0] / figures[-1][0]:8.1f}")


async def _streams(url: str) -> None:
    connection = await Connection.open(url, name="load")
    for name, subject in (("RELAY_IN", "relay.in"), ("RELAY_OUT", "relay.out")):
        await jetstream.ensure_stream(
            connection, {"name": name, "subjects": [subject], "allow_atomic": True}
        )
    connection.close()


async def _allow_batches(url: str) -> None:
    """The load is written in batches, which publishers' streams do not allow otherwise."""
    connection = await Connection.open(url, name="load")
    await jetstream.ensure_stream(
        connection, {**streams.ingress_config("rel", "bench", 1 << 20), "allow_atomic": True}
    )
    connection.close()


def durability(directory: Path, messages: int) -> None:
    """What `sync_interval: always` costs whoever publishes."""
    rows = []
    for sync in (True, False):
        with NatsServer(directory / f"sync-{sync}", sync_always=sync) as server:
            runs = [
                asyncio.run(asyncio.wait_for(_store(server.url, f"{n}", messages), LIMIT_S))
                for n in range(REPEATS)
            ]
            rows.append(tuple(max(figures) for figures in zip(*runs, strict=True)))
    print(f"\nstored per second, best of {REPEATS}           always     default   ratio")
    for name, always, default in zip(
        ("one at a time", "500 unacknowledged, each alone", "the agent: atomic batches of 500"),
        *rows,
        strict=True,
    ):
        print(f"{name:34}{always:>10,.0f}{default:>12,.0f}{always / default:>8.2f}")


async def _store(url: str, run: str, messages: int) -> tuple[float, float, float]:
    session = Session(url, name="load").start()
    connection = await session.connection(5)
    one, two, three = f"S{run}", f"T{run}", f"U{run}"
    for name in (one, two, three):
        await jetstream.ensure_stream(
            connection, {"name": name, "subjects": [f"{name}.>"], "allow_atomic": True}
        )
    few = max(100, messages // 50)
    start = time.perf_counter()
    for _ in range(few):
        await connection.request(f"{one}.x", PAYLOAD)
    alone = few / (time.perf_counter() - start)

    acknowledged, news = 0, asyncio.Event()

    def arrived(frames: list[wire.Frame]) -> None:
        nonlocal acknowledged
        acknowledged += len(frames)
        news.set()

    inbox = connection.inbox()
    connection.subscribe(inbox, arrived)
    some, sent = max(1_000, messages // 10), 0
    start = time.perf_counter()
    while acknowledged < some:
        while sent < some and sent - acknowledged < 500:
            connection.write(wire.publication(f"{two}.x".encode(), PAYLOAD, reply=inbox.encode()))
            sent += 1
        news.clear()
        await news.wait()
    pipelined = some / (time.perf_counter() - start)

    writer = StreamWriter(session, three)
    start = time.perf_counter()
    await asyncio.gather(
        *(
            writer.append(
                [
                    Outgoing(f"{three}.x".encode(), i, b"%b: %d\r\n" % (POSITION, i), PAYLOAD)
                    for i in chunk
                ]
            )
            for chunk in (range(at + 1, at + 501) for at in range(0, messages // 2, 500))
        )
    )
    batched = (messages // 2) / (time.perf_counter() - start)
    await writer.close()
    await session.close()
    return alone, pipelined, batched


def rate_error(directory: Path, seconds: float) -> None:
    """The gate under five times its rate."""
    with NatsServer(directory / "rate") as server:
        asyncio.run(asyncio.wait_for(_rate_error(server.url, seconds), LIMIT_S))


async def _rate_error(url: str, seconds: float) -> None:
    print("\ngate under five times its rate         asked      passed    error")
    for rate in (100.0, 1_000.0, 10_000.0):
        driver = NatsDriver(url=url, broker=f"bench{rate:.0f}")
        await driver.open()
        router = Router(driver, tables=Tables())
        router.start()
        flow = f"f{rate:.0f}"
        router.flows.set_gate(flow, Gate(rate_per_s=rate, burst=max(10.0, rate / 4)))
        await router.flows.ensure_flow(flow, FlowSpec(delivery=Delivery.BEST_EFFORT, ingress=True))
        await router.flows.set_local([flow])
        load = await Connection.open(url, name="load")
        message = wire.publication(f"weir.in.{flow}".encode(), PAYLOAD)

        async def offer(until: float) -> None:
            while time.perf_counter() < until:
                load.write(message * max(1, int(rate * 5 * 0.01)))  # noqa: B023
                await asyncio.sleep(0.01)

        await offer(time.perf_counter() + 0.5)
        offering = asyncio.create_task(offer(time.perf_counter() + seconds + 1))
        start, before = await _passing(router, flow)
        await asyncio.sleep(seconds)
        end, after = await _passing(router, flow)
        passed, asked = after - before, rate * (end - start)
        offering.cancel()
        print(f"{rate:>18,.0f}/s x {seconds:g} s{asked:>15,.0f}{passed:>12,.0f}", end="")
        print(f"{abs(passed - asked) / asked:>9.2%}")
        load.close()
        await router.close()
        await driver.close()


async def _passing(router: Router, flow: str) -> tuple[float, int]:
    """A moment at which messages have just passed, so that no part of a message is counted."""
    before = router.counters().passed[flow]
    while (passed := router.counters().passed[flow]) == before:
        await asyncio.sleep(0)
    return time.perf_counter(), passed


def fleet(directory: Path, shifts: int) -> None:
    """Pause per shift with and without load, and aborts, on six brokers and agents."""
    print("\npause per shift and broker                     p50       p99   shifts")
    with Fleet(directory / "idle", system(Delivery.RELIABLE)) as idle:
        _to_and_fro(idle, shifts)
        _pauses("idle", idle.state()["pauses_s"], shifts)
        stopped = idle.agents["e"]
        stopped.pause()
        try:
            idle.shift("aborted", "f", "e", "c")
            until = time.monotonic() + 20
            while not idle.state()["aborts"] and time.monotonic() < until:
                time.sleep(0.05)
        finally:
            stopped.go_on()
        state = idle.ended("aborted", 60)
        decided_s, released_s, _ = idle.state()["aborts"][0]
    for name, delivery in (("core", Delivery.BEST_EFFORT), ("reliable", Delivery.RELIABLE)):
        with Fleet(directory / name, system(delivery)) as loaded:
            verdict = under_load(loaded, delivery, partial(_to_and_fro, loaded, shifts))
            pauses_s = loaded.state()["pauses_s"]
        _pauses(f"{name}, 400 messages/s in, 1,600/s out", pauses_s, shifts)
        if verdict.phantom or (delivery is Delivery.RELIABLE and not verdict.clean):
            print(f"problem: {verdict}")
    print(
        f"a participant that does not answer: called off after {decided_s:.2f} s, carried out by "
        f"whoever lives after {released_s:.2f} s; when it is back, the shift has {state}"
    )


def _to_and_fro(fleet: Fleet, shifts: int) -> None:
    """The link of d from c to b and back."""
    for number in range(shifts):
        j, k = ("c", "b") if number % 2 == 0 else ("b", "c")
        fleet.shift(f"s{number}", "d", j, k)
        fleet.ended(f"s{number}", 30)
        fleet.settle(30)


def _pauses(name: str, pauses_s: list[float], shifts: int) -> None:
    pauses = sorted(pauses_s)
    at = {share: pauses[min(len(pauses) - 1, int(share * len(pauses)))] for share in (0.5, 0.99)}
    print(f"{name:40}{at[0.5] * 1000:>6.0f} ms{at[0.99] * 1000:>7.0f} ms{shifts:>9}")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--messages", type=int, default=200_000)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each rate")
    parser.add_argument(
        "--fleet",
        type=int,
        nargs="?",
        const=20,
        default=0,
        metavar="SHIFTS",
        help="six brokers, too",
    )
    options = parser.parse_args()
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    if load > 0.5:
        print(f"this machine is busy (load {load:.1f} per processor): clock figures mean little")
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        forwarding(directory, options.messages)
        durability(directory, options.messages // 10)
        rate_error(directory, options.seconds)
        if options.fleet:
            fleet(directory, options.fleet)


if __name__ == "__main__":
    main()
