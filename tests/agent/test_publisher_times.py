"""When publishers sent, out of readings of their connections."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from agent.drivers.base import LONGEST_NAME, MOST_PUBLISHERS, PublisherReading, Sent, Stats
from agent.drivers.nats.publisher_times import LEAST_S, PublisherTimes
from agent.telemetry import Counters, Meter
from apps.telemetry.domain.payload import telemetry_checked

BEGAN_S = 1_700_000_000.0


def rfc3339(at_s: float) -> str:
    """As a server writes times: up to nine decimals, without zeros at the end."""
    whole = datetime.fromtimestamp(int(at_s), tz=UTC).strftime("%Y-%m-%dT%H:%M:%S")
    fraction = f"{at_s % 1:.9f}"[1:].rstrip("0").rstrip(".")
    return f"{whole}{fraction}Z"


class Server:
    """A server's connections, each of which sends when it is told, and who reads them."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.times = PublisherTimes(clock=lambda: self.now_s)
        self._rows: dict[int, dict[str, object]] = {}
        self._names: dict[int, str] = {}
        self._number = 0

    def connect(self, number: int, name: str, *, came: int = 0) -> None:
        self._names[number] = name
        self._rows[number] = {"cid": number, "in_msgs": came, "out_msgs": 0, "last_activity": ""}

    def disconnect(self, number: int) -> None:
        del self._rows[number], self._names[number]

    def send(self, number: int, *at_s: float, acknowledged: bool = False) -> None:
        row = self._rows[number]
        row["in_msgs"] = int(str(row["in_msgs"])) + len(at_s)
        row["out_msgs"] = int(str(row["out_msgs"])) + len(at_s) * acknowledged
        row["last_activity"] = rfc3339(BEGAN_S + at_s[-1])

    def hear(self, number: int, at_s: float) -> None:
        """Give a message that is no acknowledgement to a connection."""
        row = self._rows[number]
        row["out_msgs"] = int(str(row["out_msgs"])) + 1
        row["last_activity"] = rfc3339(BEGAN_S + at_s)

    def read(self, at_s: float) -> Mapping[str, tuple[int, float | None]]:
        """What a reading gives: messages and moment, in seconds since the beginning."""
        self.now_s = at_s
        self.times.read(list(self._rows.values()), self._names.get)
        readings = self.times.readings
        if not readings or readings[-1].number == self._number:
            return {}
        self._number = readings[-1].number
        return {
            name: (n, None if at is None else pytest.approx(at - BEGAN_S, abs=1e-5))
            for name, (n, at) in readings[-1].sent.items()
        }


@pytest.fixture
def server() -> Server:
    server = Server()
    server.connect(7, "s-1", came=3)
    assert server.read(0.0) == {}
    return server


def test_a_single_message_is_a_moment_however_long_the_interval_was(server: Server) -> None:
    server.send(7, 0.25)
    assert server.read(1.0) == {"s-1": (1, 0.25)}
    server.send(7, 1.5, acknowledged=True)
    assert server.read(9.0) == {"s-1": (1, 1.5)}
    assert server.read(10.0) == {}


def test_a_burst_is_one_moment_once_it_is_known_to_be_over(server: Server) -> None:
    assert server.read(1.0) == {}
    server.send(7, 1.3, 1.31, 1.32, 1.33, 1.34)
    assert server.read(2.0) == {}
    assert server.read(3.0) == {"s-1": (5, 1.34)}
    assert server.read(4.0) == {}


def test_who_sends_often_has_no_moments_and_all_its_messages_count(server: Server) -> None:
    reported = []
    for second in range(1, 6):
        server.send(7, *(second - 1 + n / 50 for n in range(50)))
        reported.append(server.read(float(second)))
    reported.append(server.read(6.0))
    # The connection was new in the first interval, so nobody knows that it was quiet before.
    assert [row.get("s-1") for row in reported] == [*[(50, None)] * 5, None]


def test_what_goes_on_over_a_reading_is_no_burst(server: Server) -> None:
    assert server.read(1.0) == {}
    server.send(7, 1.9, 1.95)
    assert server.read(2.0) == {}
    server.send(7, 2.01, 2.02)
    assert server.read(3.0) == {"s-1": (4, None)}


def test_a_reading_that_follows_at_once_is_left_out(server: Server) -> None:
    """Else a busy publisher would have moments just while somebody reads often."""
    for n in range(1, 9):
        server.send(7, n * 0.1)
        reported = server.read(n * 0.1)
        assert (reported != {}) == (n == round(LEAST_S / 0.1))
        assert reported.get("s-1", (5, None)) == (5, None)


def test_a_new_connection_is_a_start_and_an_ended_one_leaves_no_burst(server: Server) -> None:
    assert server.read(1.0) == {}
    server.send(7, 1.5, 1.51)
    assert server.read(2.0) == {}
    server.disconnect(7)
    server.connect(8, "s-1", came=40)
    assert server.read(3.0) == {"s-1": (2, None)}
    server.send(8, 3.5)
    assert server.read(4.0) == {"s-1": (1, 3.5)}


def test_a_restarted_server_counts_anew_under_the_same_numbers(server: Server) -> None:
    server.disconnect(7)
    server.times.clear()
    server.connect(7, "s-2", came=50)
    assert server.read(1.0) == {}
    server.send(7, 1.5)
    assert server.read(2.0) == {"s-2": (1, 1.5)}
    server.connect(7, "s-2", came=1)  # unnoticed
    assert server.read(3.0) == {}


def test_connections_of_one_name_add_up(server: Server) -> None:
    server.connect(9, "s-1")
    assert server.read(1.0) == {}
    assert server.read(2.0) == {}
    server.send(7, 2.1)
    server.send(9, 2.2)
    assert server.read(3.0) == {}
    assert server.read(4.0) == {"s-1": (2, 2.2)}
    server.send(9, 4.4)
    assert server.read(5.0) == {"s-1": (1, 4.4)}


def test_notices_and_questions_are_nobodys_moments(server: Server) -> None:
    """They reach all publishers at once, who would seem to burst together."""
    server.connect(8, "s-2")
    server.read(1.0)
    server.times.noticed()
    for number in (7, 8):
        server.send(number, 1.2)
        server.hear(number, 1.5)
    assert server.read(2.0) == {"s-1": (1, None), "s-2": (1, None)}
    server.send(7, 2.5)
    server.times.questioned("s-1")
    assert server.read(3.0) == {}
    server.send(7, 3.1, 3.2)
    server.times.questioned("s-1")
    assert server.read(4.0) == {"s-1": (1, None)}


def test_activity_that_is_none_of_the_publishers_gives_no_moment(server: Server) -> None:
    server.send(7, 0.5)
    server.hear(7, 0.8)
    server.hear(7, 0.9)
    assert server.read(1.0) == {"s-1": (1, None)}


class Crowd:
    """Connections of ever so many publishers, all of which send once a second."""

    def __init__(self, connections: int) -> None:
        self.names = [f"sensor-{n}" for n in range(connections)]
        self.second = 0
        self.times = PublisherTimes(clock=lambda: float(self.second))

    def read(self) -> None:
        self.second += 1
        rows = [
            {
                "cid": n,
                "in_msgs": self.second,
                "out_msgs": 0,
                "last_activity": f"2026-01-01T00:00:{self.second:02}.{n:09}Z",
            }
            for n in range(len(self.names))
        ]
        self.times.read(rows, dict(enumerate(self.names)).get)

    @property
    def last(self) -> PublisherReading:
        return self.times.readings[-1]


def test_thousands_of_connections_are_all_read() -> None:
    crowd = Crowd(5_000)
    for _ in range(3):
        crowd.read()
    assert (len(crowd.last.sent), crowd.last.left) == (5_000, 0)


def test_of_a_hundred_thousand_connections_few_are_read_always_the_same() -> None:
    """The agent forwards messages on the thread that reads them."""
    crowd = Crowd(100_000)
    for _ in range(3):
        crowd.read()
    reported = crowd.last.sent.keys()
    assert len(reported) > MOST_PUBLISHERS / 2
    assert crowd.last.left == 100_000 - len(reported)
    # Whoever is reported stays so when others come, but for a few, and when they go again.
    crowd.names += [f"other-{n}" for n in range(20_000)]
    crowd.read()
    crowd.read()
    assert len(crowd.last.sent) <= MOST_PUBLISHERS
    assert len(reported & crowd.last.sent.keys()) > 0.7 * len(reported)
    del crowd.names[3_000:]
    for _ in range(3):
        crowd.read()
    assert (len(crowd.last.sent), crowd.last.left) == (3_000, 0)


def stats(*sent: Mapping[str, tuple[int, float | None]]) -> Stats:
    readings = tuple(
        PublisherReading(number=n, sent={name: Sent(*row) for name, row in one.items()})
        for n, one in enumerate(sent, 1)
    )
    return Stats(publishers=readings)


class TestTelemetry:
    def test_reports_each_reading_once_and_is_taken(self) -> None:
        meter = Meter(0.0)
        first = {"s-1": (1, 0.25), "s-2": (50, None)}
        reported = meter.measure(1.0, Counters(), stats(first))
        assert reported["publishers"] == first
        assert telemetry_checked(reported)["publishers"] == first
        assert "publishers" not in meter.measure(2.0, Counters(), stats(first))
        later = stats(first, {"s-1": (1, 1.25)}, {"s-1": (3, None), "s-2": (1, 2.5)})
        reported = meter.measure(3.0, Counters(), later)
        assert reported["publishers"] == {"s-1": (4, 1.25), "s-2": (1, 2.5)}
        assert reported["publishers_left"] == 0

    def test_names_no_more_than_a_message_may_hold_and_counts_the_rest(self) -> None:
        names = [f"s-{n}" for n in range(MOST_PUBLISHERS + 7)]
        meter = Meter(0.0)
        both = stats(dict.fromkeys(names, (1, 0.5)), dict.fromkeys(reversed(names), (1, 1.5)))
        first, second = (
            meter.measure(n, Counters(), Stats(publishers=both.publishers[: int(n)]))
            for n in (1.0, 2.0)
        )
        assert first["publishers"].keys() == second["publishers"].keys()
        assert len(first["publishers"]) == MOST_PUBLISHERS
        assert first["publishers_left"] == second["publishers_left"] == 7

    def test_says_how_many_the_driver_leaves_out(self) -> None:
        reading = PublisherReading(number=1, sent={"s-1": Sent(1, 0.5)}, left=95_000)
        reported = Meter(0.0).measure(1.0, Counters(), Stats(publishers=(reading,)))
        assert telemetry_checked(reported)["publishers_left"] == 95_000


@pytest.mark.parametrize("name", ["s" * (LONGEST_NAME + 1), "\x00", "\ud800"])
def test_a_name_that_would_have_the_message_refused_is_left_out(server: Server, name: str) -> None:
    server.connect(8, name)
    server.read(1.0)
    server.send(7, 1.5)
    server.send(8, 1.5)
    assert server.read(2.0) == {"s-1": (1, 1.5)}
    assert server.times.readings[-1].left == 1
