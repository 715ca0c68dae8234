"""A generated hour of requests is a closed system: mean value analysis says what it shows."""

from dataclasses import replace

import numpy as np
import pytest

from tests.weir.records.logs import LIMIT, check_samples, mean_z, slices_of, tables_of
from weir.records.requests import Shape, services_of

RECORDS, SEED = 300_000, 7
WARM = 0.05
"""Part of the hour before which the system is not in equilibrium: all begin by thinking."""
BATCHES = 20
"""Spans of a log, so much longer than a client waits that they count as independent."""

SHAPES = {
    "one server": Shape(),
    "busy": replace(Shape(), exec_s=0.2, clients=10),
    "three servers": replace(Shape(), exec_s=0.2, servers=3),
}


@pytest.fixture(scope="module", params=SHAPES)
def logged(request):
    shape = SHAPES[request.param]
    services = services_of(shape, records=RECORDS, seed=SEED)
    return services, tables_of(slices_of("requests", RECORDS, SEED, shape))


def test_response_time_and_throughput_are_those_of_mean_value_analysis(logged):
    services, tables = logged
    rows, truth, shape = tables["requests"], services.station(), services.shape
    sent_s = rows["at_s"] - services.measured.began_s
    count = len(services.names)
    length_s = shape.hour_s * (1 - 2 * WARM) / BATCHES
    batch = np.floor((sent_s - WARM * shape.hour_s) / length_s).astype(int)
    inside = (batch >= 0) & (batch < BATCHES)
    answered = inside & ~np.isnan(rows["delay_s"])
    place = batch * count + rows["topic"]
    size = BATCHES * count
    delays = np.bincount(place[answered], rows["delay_s"][answered], minlength=size)
    means = delays / np.bincount(place[answered], minlength=size)
    assert abs(mean_z(means, truth.response_s + shape.network_s)) < LIMIT
    rates = np.bincount(place[inside], minlength=size) / length_s
    assert abs(mean_z(rates, truth.throughput_per_s)) < LIMIT
    # The comparison is worth something: it would see a difference of a few hundredths.
    assert np.std(means) / np.sqrt(size) < 0.01 * truth.response_s
    assert np.std(rates) / np.sqrt(size) < 0.01 * truth.throughput_per_s


def test_client_waits_for_its_answer_before_it_asks_again(logged):
    services, tables = logged
    rows = tables["requests"]
    order = np.lexsort((rows["at_s"], rows["subscriber"]))
    client, at_s, delay_s = (rows[name][order] for name in ("subscriber", "at_s", "delay_s"))
    same = client[1:] == client[:-1]
    thought_s = (at_s[1:] - at_s[:-1] - delay_s[:-1])[same & ~np.isnan(delay_s[:-1])]
    assert thought_s.min() > -1e-6
    assert abs(mean_z(thought_s, services.think_s)) < LIMIT
    assert (rows["topic"] == rows["subscriber"] // services.shape.clients).all()
    assert (rows["broker"] == services.broker_of_client[rows["subscriber"]]).all()
    assert (rows["origin"] == services.broker_of_service[rows["topic"]]).all()


def test_some_requests_have_no_answer(logged):
    services, tables = logged
    missing = np.isnan(tables["requests"]["delay_s"])
    part = services.shape.unanswered
    spread = np.sqrt(part * (1 - part) * len(missing))
    assert abs(missing.sum() - part * len(missing)) / spread < LIMIT


def test_samples_show_what_brokers_did(logged):
    services, tables = logged
    rows = tables["requests"]
    check_samples(services.measured, tables, (rows, rows["broker"]), (rows, rows["origin"]))
