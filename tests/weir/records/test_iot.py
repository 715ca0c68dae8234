"""A generated day of sensors shows what its shape says: periods, silences, events, consumers."""

import numpy as np
import pytest
from scipy.stats import binom

from tests.weir.records.logs import (
    LIMIT,
    check_deliveries,
    check_samples,
    poisson_z,
    slices_of,
    tables_of,
)
from weir.records.iot import Shape, fleet_of

RECORDS, SEED = 1_000_000, 6
UNTIL_S = 0.95 * Shape().day_s
TOGETHER_S = 0.3
"""Within this everybody sends who takes part in an event, but for one in a million."""


@pytest.fixture(scope="module")
def fleet():
    return fleet_of(Shape(), records=RECORDS, seed=SEED)


@pytest.fixture(scope="module")
def tables():
    return tables_of(slices_of("iot", RECORDS, SEED))


@pytest.fixture(scope="module")
def sent_s(fleet, tables):
    return tables["messages"]["at_s"] - fleet.measured.began_s


def test_devices_outside_of_groups_keep_period_and_phase(fleet, tables, sent_s):
    device = tables["messages"]["publisher"]
    alone = np.ones(len(fleet.period_s), dtype=bool)
    alone[fleet.groups.ravel()] = False
    late = []
    for each in np.flatnonzero(alone & np.isinf(fleet.silent_from_s)).tolist():
        beats = (sent_s[device == each] - fleet.phase_s[each]) / fleet.period_s[each]
        ticks = np.floor(beats)
        assert ticks.tolist() == list(range(len(ticks)))
        assert len(ticks) > (UNTIL_S - fleet.phase_s[each]) / fleet.period_s[each] - 1
        late.append((beats - ticks) * fleet.period_s[each])
    late = np.concatenate(late) / fleet.shape.jitter_s
    assert len(late) > 10_000
    assert abs(late.mean() - 1) * np.sqrt(len(late)) < LIMIT


def test_silent_devices_come_back(fleet, tables, sent_s):
    device = tables["messages"]["publisher"]
    count = len(fleet.period_s)
    silent = np.flatnonzero(np.isfinite(fleet.silent_from_s))
    apart = len(silent) - fleet.shape.silent * count
    assert abs(apart) / np.sqrt(0.16 * count) < LIMIT
    assert not fleet.silent(device, sent_s - 1e-6).any()
    for each in silent.tolist():
        own = sent_s[device == each]
        until_s = fleet.silent_until_s[each]
        if until_s + 2 * fleet.period_s[each] < UNTIL_S:
            assert own[own > until_s].min() < until_s + fleet.period_s[each] + 1


def test_groups_send_at_once_when_something_happens(fleet, tables, sent_s):
    device = tables["messages"]["publisher"]
    whole = [group for group in fleet.groups if np.isinf(fleet.silent_from_s[group]).all()]
    assert len(whole) > 2
    chance = binom.sf(3, fleet.shape.group, fleet.shape.takes_part)
    bursts = 0
    for group in whole:
        at_s = sent_s[np.isin(device, group) & (sent_s < UNTIL_S)]
        near = at_s[3:] - at_s[:-3] < TOGETHER_S
        # Windows of one event follow one another.
        bursts += int((near & ~np.r_[False, near[:-1]]).sum())
    expected = fleet.events_per_s * UNTIL_S * len(whole) * chance
    assert expected > 50
    assert abs(poisson_z(bursts, expected)) < LIMIT
    for group in fleet.groups:
        assert len(np.unique(fleet.topic_of[group])) == 1


def test_part_of_the_messages_is_of_events(fleet, tables, sent_s):
    awake = np.minimum(UNTIL_S, fleet.silent_until_s) - np.minimum(UNTIL_S, fleet.silent_from_s)
    awake = UNTIL_S - np.where(np.isfinite(fleet.silent_from_s), awake, 0.0)
    by_period = (awake / fleet.period_s).sum()
    in_events = fleet.events_per_s * fleet.shape.takes_part * awake[fleet.groups].sum()
    part = fleet.shape.event_messages
    assert in_events / (in_events + by_period) == pytest.approx(part, rel=0.01)
    # At most all devices of a group send at once.
    spread = np.sqrt(fleet.shape.group * in_events) + np.sqrt(len(awake))
    assert abs((sent_s < UNTIL_S).sum() - in_events - by_period) / spread < LIMIT


def test_everybody_receives_what_it_wants_as_late_as_it_should(fleet, tables):
    check_deliveries(
        fleet.network,
        tables,
        np.ones_like,
        until_s=UNTIL_S,
        began_s=fleet.measured.began_s,
    )


def test_samples_show_what_brokers_did(fleet, tables):
    rows = [(tables[name], tables[name]["broker"]) for name in ("messages", "deliveries")]
    check_samples(fleet.measured, tables, *rows)
