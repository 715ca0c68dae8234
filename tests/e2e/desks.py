"""Subscribers of the harbour: who they are in its model, and the map of what they want."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.e2e.api import Api
from tests.e2e.fleet import Fleet

AT = {"desk-1": "ham-1", "desk-2": "ham-1", "desk-3": "ant-1"}
"""Subscriber -> its broker."""


@contextmanager
def mapped(fleet: Fleet) -> Iterator[dict[str, list[str]]]:
    """Keep subscribers in the harbour's model for a while, and its best-effort topics on streams in
    two groups; who wants which flows."""
    made: list[str] = []
    client = fleet.everybody.client

    def make(kind: str, **values: Any) -> str:
        answer = fleet.everybody.post(f"/api/v1/{kind}", {"system": fleet.system, **values})
        assert answer.status_code == 201, answer.text
        made.append(f"/api/v1/{kind}/{answer.json()['id']}")
        return str(answer.json()["id"])

    topics = best_effort(fleet)
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
        put(fleet.everybody, row["id"], pick.choice(streams))
    yield wants
    for row in topics:
        put(fleet.everybody, row["id"], None)
    for address in reversed(made):
        tag = client.get(address).headers["ETag"]
        answer = client.delete(address, headers={"If-Match": tag})
        assert answer.status_code == 204, answer.text


def best_effort(fleet: Fleet) -> list[Any]:
    """Return the topics that are sent on streams."""
    return [row for row in fleet.rows("topics") if row["delivery"] == "best_effort"]


def put(api: Api, topic: str, stream: str | None) -> None:
    """Put a topic into a stream, by hand."""
    address = f"/api/v1/topics/{topic}"
    tag = api.client.get(address).headers["ETag"]
    answer = api.client.patch(address, json={"stream": stream}, headers={"If-Match": tag})
    assert answer.status_code == 200, answer.text
