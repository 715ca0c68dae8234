"""The job `fit`: records in, coefficients out, the same alone and over many tasks."""

import json

import numpy as np
import pytest

from spark_tasks import entry
from spark_tasks.jobs.fit import fit_payload
from tests.spark_tasks.orders import order
from weir.fitting.records import Windows, merged, totals_of

A, B, IDLE = 0.0148354, 0.00113717, 2.0
CAPACITY = 100.0


def model(brokers=("b1", "b2"), *, window_s=10, measure="cpu"):
    terms = [
        {"kind": "idle"},
        {"kind": "flow", "name": "f", "flow": "f", "old": 0.03, "rate_max_per_s": 200},
        {"kind": "class", "name": "c", "flow": "f", "old": 0.001, "population_max": 400},
    ]
    cases = [
        {
            "broker": broker,
            "resource": measure,
            "measure": measure,
            "capacity": CAPACITY,
            "terms": terms,
        }
        for broker in brokers
    ]
    return {"format": 1, "window_s": window_s, "cases": cases}


def records(seconds=600, *, noise=0.002, brokers=("b1", "b2"), seed=0):
    """Flow f comes in at b1 and passes b2; rate and consumers change every minute or so."""
    rng = np.random.default_rng(seed)
    lines = []
    for second in range(seconds):
        minute = second // 60
        rate = [200.0, 10.0, 100.0, 200.0, 20.0][minute % 5]
        people = [1, 400, 100, 200, 300, 20, 50][minute % 7]
        for broker in brokers:
            load = IDLE + A * rate + B * rate * people
            record = {
                "broker": broker,
                "at": 1_700_000_000 + second,
                "interval_s": 1.0,
                "cpu_ratio": 4 * (load / CAPACITY + rng.normal(0, noise)),
                "cores": 4,
                "passed": {"f": rate} if broker == "b1" else {},
                "message_bytes": {"f": 800.0 + rng.normal(0, 20)} if broker == "b1" else {},
                "admitted": {"c": people},
            }
            lines.append(json.dumps(record).encode())
    return lines


def document(head=None, lines=None):
    first = json.dumps(head or model()).encode()
    return b"\n".join([first, *(records() if lines is None else lines)])


def coefficients(answer, broker):
    case = next(c for c in json.loads(answer)["cases"] if c["broker"] == broker)
    return {(row["kind"], row["name"]): row for row in case["coefficients"]}


@pytest.mark.parametrize("broker", ["b1", "b2"])
def test_finds_what_the_records_were_made_of(broker):
    answer, error = fit_payload(document())
    assert error is None
    fitted = coefficients(answer, broker)
    for key, truth in [(("flow", "f"), A), (("class", "c"), B), (("idle", ""), IDLE)]:
        row = fitted[key]
        width = row["high"] - row["low"]  # 95 % of such intervals hold it; twice as wide, all do
        assert row["low"] - width / 2 <= truth <= row["high"] + width / 2
        assert row["value"] == pytest.approx(truth, rel=0.1)
        assert row["identified"]


def test_window_in_which_consumers_came_is_left_out():
    lines = records(120, noise=0.0)
    broken = [json.loads(line) for line in lines]
    for record in broken[40:44]:
        record["admitted"] = {"c": 900}
        record["cpu_ratio"] = 40.0
    answer, _ = fit_payload(document(lines=[json.dumps(r).encode() for r in broken]))
    case = json.loads(answer)["cases"][0]
    whole = json.loads(fit_payload(document(lines=lines))[0])["cases"][0]
    assert case["points"] == whole["points"] - 1
    assert max(point["measured"] for point in case["scatter"]) < CAPACITY


def test_broker_that_measured_nothing_is_said_so():
    answer, error = fit_payload(document(lines=records(brokers=("b1",))))
    assert error is None
    silent = next(c for c in json.loads(answer)["cases"] if c["broker"] == "b2")
    assert silent["points"] == 0
    assert not silent["enough"]
    assert all(row["high"] is None for row in silent["coefficients"])


def test_window_in_which_the_source_was_silent_is_left_out():
    lines = [json.loads(line) for line in records(300, noise=0.0)]
    silent = range(1_700_000_103, 1_700_000_111)  # most of one window, a little of the next
    kept = [r for r in lines if not (r["broker"] == "b1" and r["at"] in silent)]
    whole, part = (
        json.loads(fit_payload(document(lines=[json.dumps(r).encode() for r in rows]))[0])
        for rows in (lines, kept)
    )
    points = {
        name: {case["broker"]: case["points"] for case in answer["cases"]}
        for name, answer in (("whole", whole), ("part", part))
    }
    assert points["part"]["b2"] == points["whole"]["b2"] - 1
    # Its own load was measured in the little that is left of the window, and so was the rate.
    assert points["part"]["b1"] == points["whole"]["b1"]
    for case in part["cases"]:
        for row in case["coefficients"]:
            truth = {"flow": A, "class": B, "idle": IDLE}[row["kind"]]
            assert row["value"] == pytest.approx(truth, rel=1e-6)


def test_network_coefficient_is_the_size_of_a_message():
    answer, _ = fit_payload(document(head=model(measure="network")))
    fitted = coefficients(answer, "b2")
    assert fitted["flow", "f"]["value"] == pytest.approx(800, rel=0.01)
    assert fitted["class", "c"]["value"] == pytest.approx(800, rel=0.01)
    assert ("idle", "") not in fitted


def test_steady_operation_gets_advice_instead_of_certainty():
    lines = [line for line in records(60)]
    case = json.loads(fit_payload(document(lines=lines))[0])["cases"][0]
    assert case["condition"] is None
    assert case["advice"]
    assert all(not row["identified"] for row in case["coefficients"] if row["kind"] != "idle")


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        (b"", "model"),
        (b"[]", "format 1"),
        (document(head=model(measure="heat"), lines=[]), "measure"),
        (document(head=model(window_s=0), lines=[]), "window_s"),
        (document(lines=[b"{"]), "records"),
        (document(lines=[b'{"broker": "b"}']), "records"),
    ],
)
def test_refusal_is_a_sentence(payload, words):
    answer, error = fit_payload(payload)
    assert answer is None
    assert words in error


def test_partitions_in_any_order_give_the_same_sums():
    lines = records(40)
    whole = totals_of(lines, window_s=10)
    parts = [totals_of(lines[i::3], window_s=10) for i in (2, 0, 1)]
    together = merged(parts)
    assert together.keys() == whole.keys()
    for slot, total in whole.items():
        assert together[slot].mean == pytest.approx(total.mean)
        assert together[slot].least == total.least
        assert together[slot].most == total.most
    assert Windows(together).sizes("f")[0] == pytest.approx(Windows(whole).sizes("f")[0])


def test_same_records_give_the_same_bytes():
    assert fit_payload(document()) == fit_payload(document())


@pytest.mark.spark
@pytest.mark.slow
class TestOnSpark:
    """Through the one door, in one task and spread over many."""

    def run(self, remote, payload, folder, engine):
        return entry.run(
            remote=remote,
            job="fit",
            tag=engine,
            payload=payload,
            input_uri=(folder / engine / "in").as_uri(),
            output_uri=(folder / engine / "out").as_uri(),
            order=order(parameters={"engine": engine}),
        )

    def test_both_engines_give_the_same_answer(self, spark_server, tmp_path):
        payload = document()
        alone, _ = fit_payload(payload)
        assert self.run(spark_server, payload, tmp_path, "local") == alone
        spread = json.loads(self.run(spark_server, payload, tmp_path, "spark"))
        expected = json.loads(alone)
        assert spread["snapshot_hash"] == expected["snapshot_hash"]
        for mine, theirs in zip(spread["cases"], expected["cases"], strict=True):
            assert mine["broker"] == theirs["broker"]
            assert mine["points"] == theirs["points"]
            assert mine["advice"] == theirs["advice"]
            for one, other in zip(mine["coefficients"], theirs["coefficients"], strict=True):
                assert one["name"] == other["name"]
                assert one["value"] == pytest.approx(other["value"], rel=1e-9, abs=1e-12)
                assert one["high"] == pytest.approx(other["high"], rel=1e-6)

    @pytest.mark.parametrize("engine", ["local", "spark"])
    def test_refusal_is_a_job_error(self, spark_server, tmp_path, engine):
        with pytest.raises(entry.JobError, match="not a telemetry record"):
            self.run(spark_server, document(lines=[b"{"]), tmp_path, engine)
