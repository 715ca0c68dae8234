"""The closed queueing station: laws, published numbers, the textbook recursion."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weir.queueing.mva import closed_station

stations = st.fixed_dictionaries(
    {
        "senders": st.integers(1, 200),
        "think_s": st.floats(0, 10),
        "exec_s": st.floats(1e-4, 10),
        "servers": st.integers(1, 50),
    }
)


@pytest.mark.parametrize(("servers", "response_ms"), [(1, 62.193), (2, 13.137), (3, 8.830)])
def test_example_of_bhola_2006(servers: int, response_ms: float) -> None:
    station = closed_station(senders=20, think_s=0.1, exec_s=0.008, servers=servers)
    assert 1000 * station.response_s == pytest.approx(response_ms, abs=5e-4)


@settings(deadline=None)
@given(stations)
def test_obeys_littles_law_for_the_whole_loop(given_: dict) -> None:
    station = closed_station(**given_)
    thinking = station.throughput_per_s * given_["think_s"]
    assert station.mean_at_station + thinking == pytest.approx(given_["senders"])
    assert station.mean_at_station == pytest.approx(station.throughput_per_s * station.response_s)


@settings(deadline=None)
@given(stations)
def test_stays_within_the_asymptotic_bounds(given_: dict) -> None:
    station = closed_station(**given_)
    n, z, s, m = (given_[key] for key in ("senders", "think_s", "exec_s", "servers"))
    assert station.response_s >= s * (1 - 1e-9)
    assert station.response_s >= (n * s / m - z) * (1 - 1e-9)
    assert station.throughput_per_s <= min(n / (z + s), m / s) * (1 + 1e-9)


@settings(deadline=None)
@given(stations)
def test_another_server_never_slows_down(given_: dict) -> None:
    more = given_ | {"servers": given_["servers"] + 1}
    assert closed_station(**more).response_s <= closed_station(**given_).response_s * (1 + 1e-9)


@settings(deadline=None)
@given(st.integers(1, 12), st.floats(0.05, 5), st.floats(0.01, 2), st.integers(1, 12))
def test_agrees_with_the_textbook_recursion(
    senders: int, think_s: float, exec_s: float, servers: int
) -> None:
    at_station = [1.0]  # probability of k at the station, for a population of 0
    response_s = exec_s
    for n in range(1, senders + 1):  # Reiser and Lavenberg, load-dependent station
        response_s = sum(
            (k / min(k, servers)) * exec_s * at_station[k - 1] for k in range(1, n + 1)
        )
        throughput = n / (think_s + response_s)
        above = [throughput * exec_s / min(k, servers) * at_station[k - 1] for k in range(1, n + 1)]
        at_station = [1.0 - sum(above), *above]
    station = closed_station(senders=senders, think_s=think_s, exec_s=exec_s, servers=servers)
    assert station.response_s == pytest.approx(response_s, rel=1e-6)


@pytest.mark.parametrize(
    "wrong", [{"senders": 0}, {"servers": 0}, {"exec_s": 0.0}, {"think_s": -1.0}]
)
def test_refuses_what_is_no_station(wrong: dict) -> None:
    right = {"senders": 2, "servers": 1, "exec_s": 1.0, "think_s": 1.0}
    with pytest.raises(ValueError, match="need senders"):
        closed_station(**(right | wrong))


@pytest.mark.parametrize("senders", [1_000, 10_000, 100_000])
@pytest.mark.parametrize("servers_share", [0.001, 0.01, 0.1, 1.0])
def test_thousands_of_senders_neither_overflow_nor_lose_littles_law(
    senders: int, servers_share: float
) -> None:
    servers = max(1, round(servers_share * senders))
    station = closed_station(senders=senders, think_s=0.1, exec_s=0.008, servers=servers)
    loop = station.throughput_per_s * (0.1 + station.response_s)
    assert loop == pytest.approx(senders, rel=1e-9)
    # A large station is as good as fluid: either its servers or its senders are the bottleneck.
    fluid = min(servers / 0.008, senders / 0.108)
    assert station.throughput_per_s == pytest.approx(fluid, rel=0.35)
    assert station.throughput_per_s <= fluid * (1 + 1e-9)


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1e6])
def test_the_unit_of_time_changes_nothing(scale: float) -> None:
    here = closed_station(senders=20, think_s=0.1, exec_s=0.008, servers=2)
    there = closed_station(senders=20, think_s=0.1 * scale, exec_s=0.008 * scale, servers=2)
    assert there.response_s == pytest.approx(here.response_s * scale, rel=1e-9)
