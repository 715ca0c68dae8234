"""Logs of every kind: as long as wished, in order of time, by seed."""

from itertools import pairwise

import numpy as np
import pytest

from tests.weir.records.logs import slices_of, tables_of
from weir.errors import UnknownMethod
from weir.records import kind, kinds
from weir.records.slices import Slice, first_records, rows_of

DURATIONS_S = {"market": 23_400, "iot": 86_400, "requests": 3_600}


def times_of(each):
    return np.concatenate([columns["at_s"] for columns in each.tables.values()])


def test_folder_has_the_kinds():
    assert set(kinds()) == set(DURATIONS_S)
    with pytest.raises(UnknownMethod, match="known are iot, market, requests"):
        kind("gulls")


@pytest.mark.parametrize("name", DURATIONS_S)
@pytest.mark.parametrize("records", [1, 7, 1000, 249_999, 600_000])
def test_log_has_as_many_records_as_wished(name, records):
    slices = slices_of(name, records, 3)
    assert sum(each.records for each in slices) == records
    assert all(tuple(each.tables) == kind(name).TABLES for each in slices)


@pytest.mark.parametrize("name", DURATIONS_S)
def test_slices_follow_one_another_over_the_natural_duration(name):
    slices = slices_of(name, 1_000_000, 4)
    times = [times_of(each) for each in slices]
    assert len(times) > 3
    assert all(later.min() >= earlier.max() for earlier, later in pairwise(times))
    began_s = kind(name).Shape().began_s
    assert times[0].min() >= began_s
    assert times[-1].max() - began_s == pytest.approx(DURATIONS_S[name], rel=0.05)
    assert max(each.records for each in slices) < 600_000


@pytest.mark.parametrize("name", DURATIONS_S)
def test_log_ends_with_the_last_of_its_records(name):
    made = kind(name)
    shape = made.Shape()
    whole = next(made.slices(shape, records=5000, seed=5))
    kept = whole.records // 2
    cut = next(first_records(iter([whole]), kept))
    assert np.sort(times_of(cut)).tolist() == np.sort(times_of(whole))[:kept].tolist()


@pytest.mark.parametrize("name", DURATIONS_S)
def test_same_seed_gives_the_same_rows_and_another_one_others(name):
    first, again, other = (tables_of(slices_of(name, 20_000, seed)) for seed in (1, 1, 2))
    for table, columns in first.items():
        for column, values in columns.items():
            np.testing.assert_array_equal(values, again[table][column])
        assert not np.array_equal(columns["at_s"], other[table]["at_s"]) or table == "samples"
    assert not np.array_equal(first["samples"]["value"], other["samples"]["value"])


@pytest.mark.parametrize("name", DURATIONS_S)
def test_samples_are_a_small_part_and_ten_seconds_apart_where_there_is_room(name):
    for records in (2000, 600_000):
        slices = slices_of(name, records, 2)
        at_s = np.unique(tables_of(slices)["samples"]["at_s"])
        assert sum(rows_of(each.tables["samples"]) for each in slices) <= 0.11 * records
        step_s = np.unique(np.round(np.diff(at_s), 3))
        assert len(step_s) == 1
        assert step_s[0] % 10 == 0
        if name == "requests" and records == 600_000:
            assert step_s[0] == 10


def test_log_that_ends_too_early_is_no_answer():
    empty = Slice(tables={"samples": {"at_s": np.zeros(2)}})
    with pytest.raises(ValueError, match="3 records too early"):
        list(first_records(iter([empty]), 5))
