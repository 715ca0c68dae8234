"""From what agents heard to a key of the catalogue, with the real search in between."""

import random

import pytest
from django.utils import timezone

from apps.correlation.models import CorrelationAnalysis
from apps.correlation.services import correlation_request, suggestion_accept
from apps.runs.services.computations import run_store
from tests.factories.bay import PIER, QUAY, Bay
from tests.factories.publishers_sent import publishers_sent
from tests.factories.runs import claim
from weir.correlation import answer as kernel
from weir.kernel import Call

pytestmark = pytest.mark.django_db


def test_publishers_that_burst_are_suggested_and_get_a_key(bay: Bay) -> None:
    draw = random.Random(4)
    first = timezone.now().timestamp() - 1700

    def bursts() -> list[float]:
        return sorted(first + draw.uniform(0, 1600) for _ in range(60))

    together = {
        name: [at_s + draw.uniform(0, 0.01) for at_s in times]
        for names, times in ((QUAY, bursts()), (PIER[:2], bursts()))
        for name in names
    }
    publishers_sent(bay.broker, {**together, PIER[2]: bursts()})
    run = claim(correlation_request(system=bay.system, actor=None, topic=bay.topic))
    call = Call(method=run.method, parameters=run.parameters, seed=run.seed)
    run_store(run, kernel.answer(bytes(run.snapshot.payload), call))
    quay, pier = CorrelationAnalysis.objects.get(run=run).suggestions.order_by("number")
    assert (quay.members, pier.members) == (list(QUAY), list(PIER[:2]))
    assert (quay.kind, quay.proposal, pier.proposal) == ("event", "quay", "pier")
    assert quay.share > 0.9 > 0.1 > quay.by_chance
    suggestion_accept(suggestion=quay, actor=None, name=quay.proposal)
    assert bay.keys() == {"quay-1": "old", **dict.fromkeys(QUAY[1:], "quay")}
