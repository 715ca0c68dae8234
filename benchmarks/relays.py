"""Relays to compare the agent with: the same path through nats-py, and nothing else."""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import sys
from typing import Any

import nats
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy


async def core(url: str, incoming: str, outgoing: str) -> None:
    """Every message of one subject to another, as nats-py does it best: a callback."""
    client = await nats.connect(url, max_outstanding_pings=10)

    async def pass_on(message: Any) -> None:
        await client.publish(outgoing, message.data)

    await client.subscribe(
        incoming, cb=pass_on, pending_msgs_limit=10_000_000, pending_bytes_limit=1 << 32
    )
    await client.flush()
    await until_asked()


async def reliable(url: str, stream: str, outgoing: str) -> None:
    """Every message of a stream to another one: pull 500, publish 500 at once, await all, purge."""
    client = await nats.connect(url)
    js = client.jetstream(publish_async_max_pending=1000)
    config = ConsumerConfig(
        ack_policy=AckPolicy.NONE, deliver_policy=DeliverPolicy.ALL, mem_storage=True
    )
    info = await js.add_consumer(stream, config=config)
    subscription = await js.pull_subscribe_bind(info.name, stream=stream)
    relaying = asyncio.create_task(_relay(js, subscription, stream, outgoing))
    await until_asked()
    relaying.cancel()


async def _relay(js: Any, subscription: Any, stream: str, outgoing: str) -> None:
    while True:
        try:
            messages = await subscription.fetch(500, timeout=1)
        except (nats.errors.TimeoutError, TimeoutError):
            continue
        acknowledgements = [
            await js.publish_async(
                outgoing, m.data, headers={"Nats-Msg-Id": str(m.metadata.sequence.stream)}
            )
            for m in messages
        ]
        await asyncio.gather(*acknowledgements)
        await js.purge_stream(stream, seq=messages[-1].metadata.sequence.stream + 1)


async def until_asked() -> None:
    """Say that we stand; on every line of input, say what processor time we have used."""
    loop = asyncio.get_running_loop()
    print("ready", flush=True)
    while (await loop.run_in_executor(None, sys.stdin.readline)).strip() == "cpu":
        used = resource.getrusage(resource.RUSAGE_SELF)
        print(json.dumps(used.ru_utime + used.ru_stime), flush=True)


def main() -> None:
    """`python -m benchmarks.relays core|reliable URL FROM TO`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["core", "reliable"])
    parser.add_argument("url")
    parser.add_argument("source")
    parser.add_argument("target")
    options = parser.parse_args()
    relay = core if options.kind == "core" else reliable
    asyncio.run(relay(options.url, options.source, options.target))


if __name__ == "__main__":
    main()
