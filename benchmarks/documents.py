"""Cost of making the documents of a large system's agents after one change.

    python -m benchmarks.documents [--brokers 1000] [--flows 200] [--classes 4] [--repeat 5]

Each broker has some classes and some gates; the overlay is a path. Every broker's document is
made whole, as it was after every revision before, and then by what changed: one rate, one link,
and one flow, which every document says. CPU seconds of this process, the least of the repeats.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from dataclasses import replace

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.test")

import django

django.setup()

from apps.executions.services.document_cache import Texts  # noqa: E402
from apps.executions.services.documents import Facts, document_of  # noqa: E402
from weir.coordination import wire  # noqa: E402


def facts(brokers: int, flows: int, classes: int) -> Facts:
    """A path of brokers; flow f enters at broker f modulo brokers."""
    names = [f"b{i}" for i in range(brokers)]
    topics = [f"region.topic-{i}" for i in range(flows)]
    entering: dict[str, set[str]] = {}
    for i, topic in enumerate(topics):
        entering.setdefault(names[i % brokers], set()).add(topic)
    return Facts(
        system="large",
        deliveries={
            topic: wire.Delivery.RELIABLE if i % 2 else wire.Delivery.BEST_EFFORT
            for i, topic in enumerate(topics)
        },
        ingress={broker: frozenset(these) for broker, these in entering.items()},
        classes={
            broker: {
                f"{broker}.c{c}": wire.ClassSpec(flow=topics[(i + c) % flows], limit=40)
                for c in range(classes)
            }
            for i, broker in enumerate(names)
        },
        gates={
            broker: {topic: wire.Gate(rate_per_s=90.0, burst=9.0) for topic in these}
            for broker, these in entering.items()
        },
        neighbours={
            broker: frozenset(names[max(0, i - 1) : i] + names[i + 1 : i + 2])
            for i, broker in enumerate(names)
        },
        sessions=dict.fromkeys(names, 1),
        addresses={broker: f"nats://{broker}:4222" for broker in names},
        keys=dict.fromkeys(names, "U" * 56),
        unmanaged="refuse",
        max_message_bytes=1 << 20,
        keep_s=3600,
        orders=(),
    )


def whole(of: Facts) -> dict[str, bytes]:
    """Every document from nothing, as after every revision before."""
    texts = {}
    for broker in of.sessions:
        plain = wire.to_dict(document_of(of, broker))
        texts[broker] = json.dumps(plain, separators=(",", ":"), ensure_ascii=False).encode()
    return texts


def all_of(of: Facts, former: Texts | None = None) -> Texts:
    """Every document by what changed."""
    texts = Texts(of, former)
    for broker in of.sessions:
        texts.document(broker)
    return texts


def seconds(work: Callable[[], object], repeat: int) -> float:
    """CPU seconds, the least of a few."""
    least = float("inf")
    for _ in range(repeat):
        began = time.process_time()
        work()
        least = min(least, time.process_time() - began)
    return least


def main() -> None:
    """Print a line for each change."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brokers", type=int, default=1000)
    parser.add_argument("--flows", type=int, default=200)
    parser.add_argument("--classes", type=int, default=4)
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    before = facts(given.brokers, given.flows, given.classes)
    gate = {"b0": {**before.gates["b0"], "region.topic-0": wire.Gate(rate_per_s=80.0, burst=9.0)}}
    changes = {
        "first look": before,
        "one rate": replace(before, gates={**before.gates, **gate}),
        "one link": replace(
            before, neighbours={**before.neighbours, "b0": before.neighbours["b0"] | {"b9"}}
        ),
        "one new flow": replace(
            before, deliveries={**before.deliveries, "new": wire.Delivery.RELIABLE}
        ),
    }
    former = all_of(before)
    print(f"{given.brokers} brokers, {given.flows} flows; CPU seconds for all documents")
    print(f"{'change':<14}{'whole':>9}{'by change':>11}{'ratio':>8}{'made':>7}")
    for name, after in changes.items():
        start = None if name == "first look" else former
        made = all_of(after, start)
        for broker, text in whole(after).items():
            assert json.loads(made.document(broker)[2]) == json.loads(text), (name, broker)
        old = seconds(lambda after=after: whole(after), max(1, given.repeat // 2))
        new = seconds(lambda after=after, start=start: all_of(after, start), given.repeat)
        print(f"{name:<14}{old:>9.3f}{new:>11.4f}{old / new:>7.0f}x{made.rendered:>7}")


if __name__ == "__main__":
    main()
