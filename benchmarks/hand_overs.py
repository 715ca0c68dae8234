"""How long a live hand-over takes, and whether anything is lost: 1,500 moves on a running broker.

    python -m benchmarks.hand_overs [--moves N] [--rate MSG_PER_S]

One nats-server, one agent's data plane in this process, publishers and subscribers in processes of
their own. 400 flows are on 40 streams in 8 groups; 6 subscribers want 60 of them each, most of two
groups. While messages pass, flows are moved one after the other, every fifth to another group.
Every subscriber compares what it receives with what was sent: messages are numbered by their
publisher.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import nats

from agent.drivers.nats.driver import NatsDriver
from agent.router import Router
from tests.nats_server import NatsServer
from weir.coordination.tables import Tables
from weir.coordination.wire import FlowSpec, HandOver, HandOverPhase, StreamPlace
from weir_client.receiving import Lost
from weir_client.subscriber import Subscriber

FLOWS = [f"flow.{number}" for number in range(400)]
PLACES = [StreamPlace(group=stream // 5, stream=stream) for stream in range(40)]
HOMES = {flow: PLACES[5 * (number // 50) :][:5] for number, flow in enumerate(FLOWS)}
PROCESSES, SUBSCRIBERS, WANTED, AWAY = 3, 2, 60, 0.2
LAST = b"last"
LIMIT_S = 600


async def publish(url: str, rate_per_s: float) -> None:
    """Publish numbered messages of all flows in turn until a line comes on standard input."""
    client = await nats.connect(url)
    stop = asyncio.create_task(asyncio.to_thread(sys.stdin.readline))
    print("ready", flush=True)
    began, number = time.monotonic(), 0
    while not stop.done():
        for _ in range(int((time.monotonic() - began) * rate_per_s) - number):
            flow = FLOWS[number % len(FLOWS)]
            await client.publish(f"weir.in.{flow.replace('.', '%2E')}", b"%d" % number)
            number += 1
        await asyncio.sleep(0.002)
    for flow in FLOWS:
        await client.publish(f"weir.in.{flow.replace('.', '%2E')}", LAST)
    await client.flush()
    print(json.dumps({"sent": number}), flush=True)
    await client.close()


async def subscribe(url: str, seed: int) -> None:
    """Receive until the last message of every wanted flow is here; print what was wrong."""
    print(json.dumps(await _added(url, seed)), flush=True)


async def _added(url: str, seed: int) -> dict[str, int]:
    pick = random.Random(seed)
    every = [
        await Subscriber.connect(url, name=f"desk-{seed}-{n}", key="") for n in range(SUBSCRIBERS)
    ]
    homes = [pick.sample(range(8), 2) for _ in every]
    near = [[FLOWS[50 * home + n] for home in two for n in range(50)] for two in homes]
    wanted = [pick.sample(flows, WANTED) for flows in near]
    for subscriber, flows in zip(every, wanted, strict=True):
        await subscriber.want(*flows)
    print("ready", flush=True)
    counts = await asyncio.gather(*map(_received, every, map(len, wanted)))
    return {key: sum(count[key] for count in counts) for key in counts[0]}


async def _received(subscriber: Subscriber, flows: int) -> dict[str, int]:
    """Compare one subscriber's messages: those of a flow are `len(FLOWS)` apart."""
    last: dict[str, int] = {}
    count = {"received": 0, "lost": 0, "not_in_turn": 0, "reported": 0}
    ended = 0
    async for message in subscriber.messages():
        if isinstance(message, Lost):
            count["reported"] += message.last - message.first + 1
            continue
        if message.payload == LAST:
            ended += 1
            if ended == flows:
                break
            continue
        number = int(message.payload)
        before = last.get(message.flow)
        count["received"] += 1
        if before is not None and number <= before:
            count["not_in_turn"] += 1
        elif before is not None:
            count["lost"] += (number - before) // len(FLOWS) - 1
        last[message.flow] = number
    count["filtered"] = subscriber.filtered.streams + subscriber.filtered.flows
    await subscriber.close()
    return count


def _child(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.hand_overs", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


async def _line(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return (await asyncio.to_thread(child.stdout.readline)).strip()


async def measure(url: str, moves: int, rate_per_s: float) -> dict[str, Any]:
    """Move flows while messages pass; return the times of hand-overs and what went wrong."""
    pick = random.Random(1)
    driver = NatsDriver(url=url, broker="a")
    router = Router(driver, tables=Tables(), broker="a")
    await driver.open()
    router.start()
    for flow in FLOWS:
        await router.flows.ensure_flow(flow, FlowSpec(ingress=True))
    await router.know(FLOWS, None)
    await router.flows.set_local(FLOWS)
    places = {flow: pick.choice(HOMES[flow]) for flow in FLOWS}
    driver.map_flows(places)
    subscribers = [_child("--subscribe", url, "--seed", str(n)) for n in range(PROCESSES)]
    assert [await _line(child) for child in subscribers] == ["ready"] * PROCESSES
    publisher = _child("--publish", url, "--rate", str(rate_per_s))
    assert await _line(publisher) == "ready"
    await asyncio.sleep(2.0)
    took: dict[tuple[str, float], HandOver] = {}
    before = time.process_time()
    began = time.monotonic()
    for _ in range(moves):
        flow = pick.choice(FLOWS)
        among = PLACES if pick.random() < AWAY else HOMES[flow]
        places = {**places, flow: pick.choice([p for p in among if p != places[flow]])}
        driver.map_flows(places)
        await asyncio.sleep(0.01)
        _note(driver, took)
    await asyncio.sleep(2.0)
    _note(driver, took)
    busy = (time.process_time() - before) / (time.monotonic() - began)
    assert publisher.stdin is not None
    publisher.stdin.write("\n")
    publisher.stdin.flush()
    sent = json.loads(await _line(publisher))["sent"]
    results = [json.loads(await _line(child)) for child in subscribers]
    await router.close()
    await driver.close()
    times = sorted(each.took_s for each in took.values() if each.took_s is not None)
    return {
        "hand_overs": len(times),
        "unready": sum(each.unready for each in took.values()),
        "p50_ms": 1000 * times[len(times) // 2],
        "p99_ms": 1000 * times[int(len(times) * 0.99)],
        "longest_ms": 1000 * times[-1],
        "agent_cores": busy,
        "sent": sent,
        **{key: sum(result[key] for result in results) for key in results[0]},
    }


def _note(driver: NatsDriver, took: dict[tuple[str, float], HandOver]) -> None:
    for flow, each in (driver.hand_overs() or {}).items():
        if each.phase is HandOverPhase.DONE:
            took[flow, each.began_at] = each


async def main(options: argparse.Namespace) -> None:
    """Run the part that was asked for."""
    if options.publish:
        await publish(options.publish, options.rate)
    elif options.subscribe:
        await subscribe(options.subscribe, options.seed)
    else:
        with tempfile.TemporaryDirectory() as directory, NatsServer(Path(directory)) as server:
            figures = await measure(server.url, options.moves, options.rate)
        for name, value in figures.items():
            print(
                f"{name:12} {value:12,.2f}"
                if isinstance(value, float)
                else f"{name:12} {value:12,}"
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--moves", type=int, default=1_500)
    parser.add_argument("--rate", type=float, default=2_000.0)
    parser.add_argument("--publish", help=argparse.SUPPRESS)
    parser.add_argument("--subscribe", help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=0, help=argparse.SUPPRESS)

    async def run() -> None:
        async with asyncio.timeout(LIMIT_S):
            await main(parser.parse_args())

    asyncio.run(run())
