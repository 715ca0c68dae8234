"""A placement on a real Spark Connect server: the kernel's own bytes."""

from pathlib import Path

import pytest

from apps.placements.models import Placement
from apps.placements.services import placement_request
from apps.runs.services.execute import run_execute
from tests.factories.streets import kernel_answer, make_streets
from weir.lifecycle.runs import RunState

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.django_db]


def test_a_worker_places_as_the_kernel_does(spark_server, settings, tmp_path: Path):
    settings.WEIR_DATA_DIR = tmp_path / "data"
    streets = make_streets()
    run = placement_request(system=streets.system, actor=None, topic=streets.topic)
    run_execute(public_id=run.public_id)
    placement = Placement.objects.select_related("run__snapshot", "run__result").get()
    assert placement.run.state == RunState.SUCCEEDED, placement.run.failure
    assert bytes(placement.run.result.payload) == kernel_answer(placement.run)
    assert placement.run.progress["done"] >= 1
