"""A mapping on a real Spark Connect server: the kernel's own bytes."""

from pathlib import Path

import pytest

from apps.mappings.models import Mapping
from apps.mappings.services import mapping_request
from apps.runs.services.execute import run_execute
from tests.factories.market import QUICK, in_turn, kernel_answer, make_market
from weir.lifecycle.runs import RunState

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.django_db]


def test_a_worker_maps_as_the_kernel_does(spark_server, settings, tmp_path: Path):
    settings.WEIR_DATA_DIR = tmp_path / "data"
    market = make_market()
    in_turn(market)
    run = mapping_request(system=market.system, actor=None, parameters=QUICK)
    run_execute(public_id=run.public_id)
    mapping = Mapping.objects.select_related("run__snapshot", "run__result").get()
    assert mapping.run.state == RunState.SUCCEEDED, mapping.run.failure
    assert bytes(mapping.run.result.payload) == kernel_answer(mapping.run)
    assert mapping.run.progress["done"] == mapping.run.progress["total"] >= 1
    assert [row["map"] for row in mapping.outcome["compared"]][2:] == [
        "in_force",
        "proposed",
        "anew",
    ]
