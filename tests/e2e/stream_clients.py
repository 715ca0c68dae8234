"""A subscriber or a publisher of flows as a process of its own, so that a test can kill it:

    python -m tests.e2e.stream_clients desk|feed SETTINGS

Each writes one JSON object a line about every message that it got, or sent, and every loss that was
reported to it. What it has written stays when it is killed. SETTINGS is JSON: `url`, `name`, `key`,
`flows` and `path`, where it writes.
"""

import asyncio
import json
import secrets
import sys
from itertools import count
from pathlib import Path
from typing import Any

from weir_client.publisher import Publisher
from weir_client.receiving import Lost
from weir_client.subscriber import Subscriber

EVERY_S = 0.2


async def receive(*, url: str, name: str, key: str, flows: list[str], path: str) -> None:
    """Receive flows until killed."""
    with Path(path).open("ab", buffering=0) as out:
        async with await Subscriber.connect(url, name=name, key=key) as desk:
            await desk.want(*flows)
            async for each in desk.messages():
                row = {"flow": each.flow, "sender": each.sender, "life": each.life}
                if isinstance(each, Lost):
                    row |= {"lost": [each.first, each.last]}
                else:
                    row |= {"number": each.number, "payload": each.payload.decode()}
                out.write(json.dumps(row).encode() + b"\n")


async def send(*, url: str, name: str, key: str, flows: list[str], path: str) -> None:
    """Publish numbers, best effort, until killed; payloads are as those of the demo."""
    life = secrets.token_hex(4)
    with Path(path).open("ab", buffering=0) as out:
        async with await Publisher.connect(url, name=name, key=key) as feed:
            for number in count(1):
                for flow in flows:
                    await feed.publish(flow, f"{life} {name} {number}".encode())
                    row = {"flow": flow, "life": life, "number": number}
                    out.write(json.dumps(row).encode() + b"\n")
                await asyncio.sleep(EVERY_S)


if __name__ == "__main__":
    settings: dict[str, Any] = json.loads(sys.argv[2])
    asyncio.run({"desk": receive, "feed": send}[sys.argv[1]](**settings))
