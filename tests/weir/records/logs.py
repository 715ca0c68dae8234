"""Whole logs as plain arrays, and how far a count or a mean is from what it should be."""

import numpy as np

from weir.records import kind
from weir.records.slices import Text, first_records

LIMIT = 6.0
"""Standard deviations that are taken for chance; seeds are fixed."""


def slices_of(name, records, seed, shape=None):
    made = kind(name)
    shape = made.Shape() if shape is None else shape
    return list(first_records(made.slices(shape, records=records, seed=seed), records))


def tables_of(slices):
    """Return columns by table; texts as codes, as the truth has them."""
    return {
        table: {
            column: np.concatenate([codes_of(each.tables[table][column]) for each in slices])
            for column in slices[0].tables[table]
        }
        for table in slices[0].tables
    }


def codes_of(column):
    return column.codes if isinstance(column, Text) else column


def poisson_z(count, mean):
    return (count - mean) / np.sqrt(mean)


def mean_z(values, mean):
    """Return how far independent values are from this mean, by their own spread."""
    return (np.mean(values) - mean) / (np.std(values, ddof=1) / np.sqrt(len(values)))


def in_intervals(at_s, broker, weights, *, interval_s, intervals, brokers):
    """Return sums by interval and broker of what lies in the first intervals."""
    interval = (at_s // interval_s).astype(np.int64)
    inside = interval < intervals
    place = interval[inside] * brokers + broker[inside]
    sums = np.bincount(place, weights[inside], minlength=intervals * brokers)
    return sums.reshape(intervals, brokers)


def samples_by_metric(truth, samples):
    """Return values by metric, interval and broker."""
    brokers, metrics = len(truth.brokers), 4
    whole = len(samples["value"]) // (brokers * metrics) * brokers * metrics
    values = samples["value"][:whole].reshape(-1, brokers, metrics)
    return values.transpose(2, 0, 1)


def check_samples(truth, tables, came_in, went_out):
    """Compare what was sampled with the rows of the same log; the two tables may be one."""
    cpu, memory, connections, network = samples_by_metric(truth, tables["samples"])
    sums = []
    for rows, broker in (came_in, went_out):
        for weights in (rows["messages"], rows["bytes"]):
            sums.append(
                in_intervals(
                    # Unix seconds have some tenths of a microsecond.
                    rows["at_s"] - truth.began_s,
                    broker,
                    weights,
                    interval_s=truth.interval_s,
                    intervals=len(cpu),
                    brokers=len(truth.brokers),
                )
                / truth.interval_s
            )
    in_per_s, in_bytes, out_per_s, out_bytes = sums
    np.testing.assert_allclose(network, in_bytes + out_bytes)
    assert (connections == truth.connections).all()
    shape = truth.shape
    expected = shape.cpu_fixed + in_per_s * truth.cpu_s_per_in + out_per_s * truth.cpu_s_per_out
    inside = (expected > 5 * shape.cpu_noise) & (expected < 1 - 5 * shape.cpu_noise)
    assert inside.mean() > 0.9
    apart = ((cpu - expected) / shape.cpu_noise)[inside]
    assert abs(np.mean(apart)) * np.sqrt(len(apart)) < LIMIT
    assert abs(np.var(apart) - 1) * np.sqrt(len(apart) / 2) < LIMIT
    used = shape.memory_fixed_bytes + truth.connections * shape.memory_per_connection_bytes
    assert (abs(memory - used) < LIMIT * shape.memory_noise_bytes).all()


def audience_of(network, topic):
    return network.audiences[network.starts[topic] : network.starts[topic + 1]]


def check_deliveries(network, tables, factor, *, until_s, began_s):
    """Everybody who wants a topic receives each of its messages once, as late as it should.

    `factor`: of the tail of delays at a time since the log began. What was sent before `until_s`
    is compared.
    """
    messages, got = tables["messages"], tables["deliveries"]
    count = len(network.topics)
    sent_s = got["at_s"] - got["delay_s"] - began_s
    # No message is as near to the border as the rounding of a time.
    assert abs(messages["at_s"] - began_s - until_s).min() > 1e-5
    sent = np.bincount(messages["topic"][messages["at_s"] - began_s < until_s], minlength=count)
    early = sent_s < until_s
    pairs = got["topic"][early].astype(np.int64) * len(network.subscribers)
    pairs, each = np.unique(pairs + got["subscriber"][early], return_counts=True)
    topics = np.repeat(np.arange(count), np.diff(network.starts))
    wanted = topics * len(network.subscribers) + network.audiences
    heard = sent[topics] > 0
    assert pairs.tolist() == wanted[heard].tolist()
    assert each.tolist() == sent[topics][heard].tolist()
    assert (got["broker"] == network.broker_of_subscriber[got["subscriber"]]).all()
    assert (got["consumer_class"] == network.class_of[got["subscriber"]]).all()
    base_s = network.base_s[got["origin"], got["broker"]]
    median_s = network.tail.median_s * network.tail_of[got["consumer_class"]] * factor(sent_s)
    normal = np.log((got["delay_s"] - base_s) / median_s) / network.tail.sigma
    assert len(normal) > 100_000
    for broker in np.unique(got["broker"]).tolist():
        own = normal[got["broker"] == broker]
        assert abs(np.mean(own)) * np.sqrt(len(own)) < LIMIT
        assert abs(np.var(own) - 1) * np.sqrt(len(own) / 2) < LIMIT
        assert abs(np.mean(own > 2.326) - 0.01) * np.sqrt(len(own) / 0.0099) < LIMIT
