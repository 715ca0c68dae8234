"""What reading publishers' connections costs, as ratios to parsing the server's answer about them.

    python -m benchmarks.publisher_times

An agent looks about once a second at the connections of its broker's publishers, on the thread that
forwards messages: at all of them where they are few, at a sample where they are many.
"""

from __future__ import annotations

import json
import time
from typing import Any

from agent.drivers.nats.publisher_times import PublisherTimes

ROUNDS = 7


def rows_of(connections: int, second: int) -> list[dict[str, Any]]:
    """Return what a server says of so many connections, all of which have just sent."""
    return [
        {
            "cid": n,
            "in_msgs": second,
            "out_msgs": 0,
            "last_activity": f"2026-01-01T00:00:{second:02}.{n:09}Z",
        }
        for n in range(connections)
    ]


def measure(connections: int) -> tuple[float, float]:
    """Return the processor time in seconds to parse the answer, and to read the connections."""
    second = 0
    times = PublisherTimes(clock=lambda: float(second))
    names = {n: f"sensor-{n}" for n in range(connections)}
    parsed, read = [], []
    for second in range(1, ROUNDS + 1):
        answer = json.dumps(rows_of(connections, second))
        began_s = time.process_time()
        rows = json.loads(answer)
        parsed_s = time.process_time()
        times.read(rows, names.get)
        read.append(time.process_time() - parsed_s)
        parsed.append(parsed_s - began_s)
    # The first ones meet names that are new.
    return min(parsed[2:]), min(read[2:])


def main() -> None:
    for connections in (5_000, 100_000):
        parsed_s, read_s = measure(connections)
        print(
            f"{connections:7,} connections: {1e6 * read_s / connections:5.2f} us each, "
            f"{read_s / parsed_s:.2f} of what parsing the answer takes"
        )


if __name__ == "__main__":
    main()
