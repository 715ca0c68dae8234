"""Facts of generated records against DuckDB, which knows nothing of how Weir computes them."""

from pathlib import Path

import numpy as np
import pytest
from django.core.management import call_command

from benchmarks.facts_in_sql import QUESTIONS, facts_by_duckdb
from spark_tasks.facts import PERCENTILES
from tests.apps.pipeline.record_folders import facts_of, run
from weir.queueing.wait_histogram import LOWEST, RATIO, upper_edge_s

PUBLISHED = {*QUESTIONS} - {"requests"}
TABLES = {"market": PUBLISHED, "iot": PUBLISHED, "requests": {"requests", "delays", "brokers"}}
"""Which have rows of records of that kind."""


@pytest.mark.parametrize("kind", list(TABLES))
@pytest.mark.parametrize("window_s", [60, 7])
def test_every_table_is_that_of_duckdb(tmp_path: Path, kind: str, window_s: int) -> None:
    records, out = tmp_path / "records", tmp_path / "out"
    call_command("generate_records", str(records), "--kind", kind, "--records", "60000")
    assert run(records, out, "--window", str(window_s))[0] == 0
    judged = facts_by_duckdb(records, window_s=window_s)
    for table in QUESTIONS:
        facts = facts_of(out, table)
        judge = judged(table).select(facts.column_names).cast(facts.schema)
        judge = judge.combine_chunks()
        assert len(judge) == len(facts)
        assert (len(judge) > 0) == (table in TABLES[kind]), table
        for name in facts.column_names:
            exact, ours = judge[name].combine_chunks(), facts[name].combine_chunks()
            if name == "mean":
                # Arrow turns a decimal into a float to some units in the last place.
                assert np.allclose(ours.to_numpy(), exact.to_numpy(), rtol=1e-15, atol=0.0)
                continue
            if name not in PERCENTILES:
                assert ours.equals(exact), (table, name)
                continue
            value, bound = ours.to_numpy(), exact.to_numpy()
            assert (value >= bound).all()
            longest = np.maximum(bound * RATIO * (1 + 1e-12), upper_edge_s(LOWEST))
            assert (value <= longest).all()
