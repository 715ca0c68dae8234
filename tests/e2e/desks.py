"""Subscribers of the harbour: who they are in its model, what they want, and where its map has
that."""

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.e2e.api import Api
from tests.e2e.fleet import Fleet

AT = {"desk-1": "ham-1", "desk-2": "ham-1", "desk-3": "ant-1"}
"""Subscriber -> its broker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reception:
    """Messages that subscribers receive, of all subscribers together."""

    wanted: float
    unwanted: float
    """On streams that carry something that the subscriber wants."""
    dropped: float
    """On other streams of groups that it has joined."""

    @property
    def received(self) -> float:
        return self.wanted + self.unwanted + self.dropped

    def work(self, weights: Mapping[str, float]) -> float:
        """What filtering costs for each message that somebody wants."""
        packet = weights["transport"] / weights["aggregation"]
        return (packet * self.dropped + weights["messaging"] * self.unwanted) / self.wanted


def reception(
    wants: Mapping[str, list[str]], places: Mapping[str, tuple[str, str]], sent: Mapping[str, float]
) -> Reception:
    """What subscribers receive of so many messages of each flow. `places`: flow -> its stream and
    group. True where every flow is wanted at every broker of a subscriber, since brokers send no
    other."""
    wanted = unwanted = dropped = 0.0
    for flows in wants.values():
        streams = {places[flow][0] for flow in flows}
        groups = {places[flow][1] for flow in flows}
        for flow, messages in sent.items():
            stream, group = places[flow]
            if flow in flows:
                wanted += messages
            elif stream in streams:
                unwanted += messages
            elif group in groups:
                dropped += messages
    return Reception(wanted=wanted, unwanted=unwanted, dropped=dropped)


def places(fleet: Fleet) -> dict[str, tuple[str, str]]:
    """Each mapped topic with its stream and its group, by name."""
    groups = {row["name"]: row["group_name"] for row in fleet.rows("streams")}
    mapped = [row for row in fleet.rows("topics") if row["stream_name"] is not None]
    return {row["name"]: (row["stream_name"], groups[row["stream_name"]]) for row in mapped}


def modelled(fleet: Fleet) -> dict[str, tuple[str, list[str]]]:
    """Each subscriber of the model with its broker and the best-effort topics that it wants."""
    sent = {row["name"] for row in best_effort(fleet)}
    return {
        row["name"]: (
            row["broker_name"],
            sorted(sent & {interest["topic_name"] for interest in row["interests"]}),
        )
        for row in fleet.rows("subscribers")
    }


@contextmanager
def mapped(fleet: Fleet) -> Iterator[dict[str, list[str]]]:
    """Keep three more subscribers in the harbour's model for a while, and its best-effort topics on
    streams at random; who of them wants which flows."""
    topics = best_effort(fleet)
    wants = {
        name: [topics[(at + step) % len(topics)]["name"] for step in range(3)]
        for at, name in enumerate(AT)
    }
    chance = random.Random(3)
    with map_put_back(fleet), subscribing(fleet, {n: (AT[n], wants[n]) for n in wants}):
        streams = [row["id"] for row in fleet.rows("streams")]
        for row in topics:
            put(fleet.everybody, row["id"], chance.choice(streams))
        yield wants


@contextmanager
def subscribing(fleet: Fleet, wants: Mapping[str, tuple[str, list[str]]]) -> Iterator[None]:
    """Keep subscribers in the model for a while: by name, its broker and the topics it wants."""
    client = fleet.everybody.client
    here = {row["name"]: row["id"] for row in fleet.rows("brokers")}
    topics = {row["name"]: row["id"] for row in fleet.rows("topics")}
    made = []
    try:
        for name, (broker, flows) in wants.items():
            interests = [{"topic": topics[flow]} for flow in flows]
            answer = fleet.everybody.post(
                "/api/v1/subscribers",
                {
                    "system": fleet.system,
                    "name": name,
                    "broker": here[broker],
                    "interests": interests,
                },
            )
            assert answer.status_code == 201, answer.text
            made.append(f"/api/v1/subscribers/{answer.json()['id']}")
        yield
    finally:
        for address in made:
            tag = client.get(address).headers["ETag"]
            gone = client.delete(address, headers={"If-Match": tag})
            assert gone.status_code == 204, gone.text


@contextmanager
def map_put_back(fleet: Fleet) -> Iterator[None]:
    """Put topics back into their streams, and streams into their groups, at the end."""
    before = {kind: fleet.rows(kind) for kind in ("topics", "streams")}
    try:
        yield
    finally:
        for kind, member in (("topics", "stream"), ("streams", "group")):
            now = {row["id"]: row[member] for row in fleet.rows(kind)}
            for row in before[kind]:
                if row["id"] in now and now[row["id"]] != row[member]:
                    put(fleet.everybody, row["id"], row[member], kind)


def best_effort(fleet: Fleet) -> list[Any]:
    """Return the topics that are sent on streams."""
    return [row for row in fleet.rows("topics") if row["delivery"] == "best_effort"]


def put(api: Api, key: str, where: str | None, kind: str = "topics") -> None:
    """Put a topic into a stream, or a stream into a group, by hand."""
    address = f"/api/v1/{kind}/{key}"
    tag = api.client.get(address).headers["ETag"]
    change = {"topics": "stream", "streams": "group"}[kind]
    answer = api.client.patch(address, json={change: where}, headers={"If-Match": tag})
    assert answer.status_code == 200, answer.text
