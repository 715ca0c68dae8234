"""A system whose telemetry was made with known coefficients."""

from collections.abc import Callable

import pytest

from apps.runs.models import Run
from apps.runs.services.computations import run_store
from tests.factories.lab import Lab, kernel_answer, make_lab, measure
from tests.factories.runs import claim


@pytest.fixture
def lab(db: None) -> Lab:
    return make_lab()


@pytest.fixture
def measured_lab(lab: Lab) -> Lab:
    """Ten minutes of telemetry at many operating points, one sample a second and broker."""
    return measure(lab)


@pytest.fixture
def solved() -> Callable[[Run], Run]:
    """Carry a run out with the kernel, without Spark: claim, compute, store."""

    def work(run: Run) -> Run:
        claimed = claim(run)
        run_store(claimed, kernel_answer(claimed))
        return Run.objects.select_related("fit").get(pk=run.pk)

    return work
