"""Mapping problems of the tests, as plain data and read."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from weir.codec.mapping import mapping_from_dict
from weir.model.mapping import MappingProblem


def plain(
    rates: list[float],
    wanted: list[list[int]],
    *,
    streams: int = 3,
    groups: int = 2,
    costs: tuple[float, float, float] = (2.0, 1.0, 8.0),
    more: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return flows with these rates, and for each user the flows that it wants."""
    transport, messaging, aggregation = costs
    return {
        "flows": [{"id": f"f{at:04}", "rate": rate} for at, rate in enumerate(rates)],
        "users": [
            {"id": f"u{at:04}", "flows": [f"f{flow:04}" for flow in flows]}
            for at, flows in enumerate(wanted)
        ],
        "max_streams": streams,
        "max_groups": groups,
        "costs": {"transport": transport, "messaging": messaging, "aggregation": aggregation},
        **(more or {}),
    }


def problem(*given: Any, **named: Any) -> MappingProblem:
    """Return the checked problem of `plain`."""
    return mapping_from_dict(plain(*given, **named))


RATES = st.one_of(
    st.just(0.0),
    st.sampled_from([1e-30, 1e30, 1.0, 0.1, 3.0]),
    st.floats(min_value=1e-30, max_value=1e30),
)
WEIGHTS = st.one_of(st.sampled_from([0.0, 1.0, 2.0, 0.1]), st.floats(min_value=1e-6, max_value=1e6))


@st.composite
def plains(
    draw: st.DrawFn, *, flows: int = 7, users: int = 5, rates: st.SearchStrategy[float] = RATES
) -> dict[str, Any]:
    """Return problems of few flows, some without an audience, with any pins and limits."""
    given = draw(st.lists(rates, min_size=1, max_size=flows))
    names = range(len(given))
    wanted = draw(st.lists(st.sets(st.sampled_from(names)).map(sorted), min_size=1, max_size=users))
    streams = draw(st.integers(1, 4))
    groups = draw(st.integers(1, 4))
    aggregation = draw(st.floats(min_value=1.0, max_value=100.0))
    pinned = draw(
        st.dictionaries(
            st.sampled_from(names).map(lambda at: f"f{at:04}"), st.integers(0, streams - 1)
        )
    )
    pinned_groups = draw(
        st.dictionaries(st.integers(0, streams - 1).map(str), st.integers(0, groups - 1))
    )
    return plain(
        given,
        wanted,
        streams=streams,
        groups=groups,
        costs=(draw(WEIGHTS), draw(WEIGHTS), aggregation),
        more={"pins": {"flow_to_stream": pinned, "stream_to_group": pinned_groups}},
    )
