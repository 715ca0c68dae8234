"""What consumers of a class received: it falls with a restart of the server only."""

from __future__ import annotations

import pytest

from agent.drivers.nats.stats import REMEMBER_S, Deliveries


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def deliveries(clock: Clock) -> Deliveries:
    return Deliveries(clock)


def test_totals_add_up_over_connections(deliveries: Deliveries) -> None:
    deliveries.saw(1, "gold", 10)
    deliveries.saw(2, "gold", 5)
    deliveries.saw(3, "silver", 1)
    assert deliveries.totals() == {"gold": 15, "silver": 1}


def test_an_end_counts_what_was_given_since_the_last_look(deliveries: Deliveries) -> None:
    deliveries.saw(1, "gold", 10)
    deliveries.ended(1, 17, name="gold")
    assert deliveries.totals() == {"gold": 17}


def test_an_event_that_says_less_than_was_seen_takes_nothing_away(deliveries: Deliveries) -> None:
    deliveries.saw(1, "gold", 10)
    deliveries.ended(1, 0, name="gold")
    assert deliveries.totals() == {"gold": 10}


def test_a_connection_without_an_event_keeps_what_was_seen_last(
    deliveries: Deliveries, clock: Clock
) -> None:
    deliveries.saw(1, "gold", 10)
    deliveries.present(set())
    clock.now = 2 * REMEMBER_S
    deliveries.present(set())
    assert deliveries.totals() == {"gold": 10}


def test_the_event_may_come_after_the_list_that_lacks_the_connection(
    deliveries: Deliveries,
) -> None:
    deliveries.saw(1, "gold", 10)
    deliveries.present(set())
    deliveries.ended(1, 12)
    assert deliveries.totals() == {"gold": 12}


def test_a_list_from_before_an_end_counts_nobody_twice(
    deliveries: Deliveries, clock: Clock
) -> None:
    deliveries.saw(1, "gold", 10)
    deliveries.ended(1, 12, name="gold")
    # The list was on its way when the event was heard.
    deliveries.saw(1, "gold", 11)
    deliveries.present({1})
    assert deliveries.totals() == {"gold": 12}
    for clock.now in (1.0, 2 * REMEMBER_S):
        deliveries.present(set())
        assert deliveries.totals() == {"gold": 12}


def test_an_older_list_counts_nobody_twice(deliveries: Deliveries, clock: Clock) -> None:
    deliveries.saw(1, "gold", 10)
    deliveries.present(set())  # asked for before the connection came
    for clock.now in (1.0, REMEMBER_S + 1, 2 * REMEMBER_S):
        deliveries.saw(1, "gold", 14)
        deliveries.present({1})
        assert deliveries.totals() == {"gold": 14}


def test_who_was_there_before_counts_from_the_first_look(deliveries: Deliveries) -> None:
    deliveries.saw(1, "gold", 1_000, began_before=True)
    assert deliveries.totals() == {"gold": 0}
    deliveries.ended(1, 1_003, name="gold")
    assert deliveries.totals() == {"gold": 3}


def test_a_restarted_server_gives_the_same_numbers_again(deliveries: Deliveries) -> None:
    deliveries.saw(1, "gold", 10)
    deliveries.saw(2, "silver", 7)
    deliveries.restarted()
    assert deliveries.totals() == {"gold": 0, "silver": 0}
    deliveries.saw(1, "gold", 4)
    assert deliveries.totals() == {"gold": 4, "silver": 0}


def test_who_never_had_a_place_is_not_counted(deliveries: Deliveries) -> None:
    deliveries.ended(9, 100)
    assert deliveries.totals() == {}
