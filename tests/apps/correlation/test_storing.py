"""How the kernel's answer becomes an analysis with suggestions."""

import json
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from apps.catalog.models import Topic
from apps.correlation.domain.names import alternatives, name_of, proposals
from apps.correlation.models import CorrelationAnalysis, Suggestion
from apps.correlation.services import correlation_request
from apps.runs.models import Run
from apps.runs.selectors import computation_of
from apps.runs.services.computations import run_store
from apps.runs.services.gateway import JobFailed
from apps.systems.services import system_delete
from tests.factories.bay import PIER, QUAY, Bay, answer_of, group, heard, searched
from tests.factories.runs import claim
from weir.errors import InvalidProblem

pytestmark = pytest.mark.django_db


def test_columns_are_those_of_the_answer(bay: Bay) -> None:
    run = searched(bay, group(QUAY), group(PIER, kind="period", period_s=60.0, phase_s=12.25))
    analysis = run.correlationanalysis
    assert (str(analysis), analysis.topic, analysis.recording) == ("C-1", bay.topic, "day.parquet")
    assert (analysis.publishers, analysis.judged, analysis.groups) == (1000, 999, 2)
    assert analysis.since.timestamp() == 1700000000.0
    assert "groups" not in analysis.outcome
    assert analysis.outcome["periods"] == [{"period_s": 60.0, "publishers": 1, "grouped": 0}]
    quay, pier = analysis.suggestions.all()
    assert (quay.number, quay.members, quay.size, quay.share) == (1, list(QUAY), 4, 0.92)
    assert quay.example["rows"] == [{"publisher": "quay-1", "at_s": [1700000001.0, 1700000009.5]}]
    assert (pier.kind, pier.period_s, pier.phase_s, pier.state) == ("period", 60.0, 12.25, "open")
    text = computation_of(run.kind).describe(analysis)
    assert text.startswith("C-1 finds 2 groups of publishers that burst together among 1,000 ")


def test_nothing_that_bursts_together_is_an_answer_too(bay: Bay) -> None:
    run = searched(bay)
    assert (run.state, run.correlationanalysis.groups) == ("succeeded", 0)
    text = computation_of(run.kind).describe(run.correlationanalysis)
    assert text.startswith("C-1 finds no publishers that burst together among ")


def _other(name: str, value: Any) -> Any:
    return lambda plain: plain.update({name: value})


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_other("topic", "tide"), "about tide"),
        (_other("method", "guesses"), "answer of guesses"),
        (_other("publishers", 8), "other publishers"),
        (lambda plain: plain["search"].update(within_s=0.1), "another search"),
        (lambda plain: plain["groups"][0]["members"].append("stranger"), "names publishers"),
        (lambda plain: plain["groups"][0]["members"].append("quay-1"), "twice"),
    ],
)
def test_answer_to_another_question_is_refused(bay: Bay, change: Any, reason: str) -> None:
    heard(bay)
    run = claim(correlation_request(system=bay.system, actor=None, topic=bay.topic))
    plain = json.loads(answer_of(run, group(QUAY)))
    change(plain)
    with pytest.raises(ValueError, match=reason):
        run_store(run, json.dumps(plain).encode())
    assert not CorrelationAnalysis.objects.exists()


def test_numbers_that_are_not_finite_are_refused(bay: Bay) -> None:
    run = claim(
        correlation_request(
            system=bay.system,
            actor=None,
            topic=bay.topic,
            source="recording",
            recording="day.parquet",
        )
    )
    plain = json.loads(answer_of(run, group(QUAY)))
    plain["groups"][0]["share"] = float("nan")
    with pytest.raises(InvalidProblem):
        run_store(run, json.dumps(plain).encode())
    plain["groups"][0].update(share=0.9, members=["a\0b", "c"])
    with pytest.raises(JobFailed, match="NUL"):
        run_store(run, json.dumps(plain).encode())
    suggestion = Suggestion.objects.create(
        **_row(searched(bay, group(QUAY)).correlationanalysis, number=2)
    )
    with pytest.raises(IntegrityError, match="finite"), transaction.atomic():
        Suggestion.objects.filter(pk=suggestion.pk).update(spread_s=float("inf"))
    with pytest.raises(IntegrityError, match="decided"), transaction.atomic():
        Suggestion.objects.filter(pk=suggestion.pk).update(state="accepted")


def _row(analysis: CorrelationAnalysis, number: int) -> dict[str, Any]:
    first: dict[str, Any] = dict(analysis.suggestions.values().get())
    kept = {name: first[name] for name in first if name not in ("id", "public_id", "created_at")}
    return {**kept, "number": number, "proposal": f"p-{number}"}


def test_seconds_outside_the_calendar_are_kept_as_numbers(bay: Bay) -> None:
    run = claim(
        correlation_request(
            system=bay.system,
            actor=None,
            topic=bay.topic,
            source="recording",
            recording="day.parquet",
        )
    )
    plain = json.loads(answer_of(run, group(QUAY)))
    plain["until_s"] = 1.7e18
    run_store(run, json.dumps(plain).encode())
    analysis = CorrelationAnalysis.objects.get()
    assert (analysis.until, analysis.outcome["until_s"]) == (None, 1.7e18)


def test_a_topic_and_a_system_with_analyses_can_be_deleted(bay: Bay) -> None:
    searched(bay, group(QUAY))
    Topic.objects.filter(pk=bay.topic.pk).delete()
    analysis = CorrelationAnalysis.objects.get()
    assert (analysis.topic, analysis.topic_name) == (None, "depth")
    bay.system.refresh_from_db()
    system_delete(system=bay.system, actor=None, expected_version=bay.system.version)
    assert not Suggestion.objects.exists()
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("members", "name"),
    [
        (("quay-1", "quay-2"), "quay"),
        (("quay-12", "quay-13"), "quay"),
        (("quay", "quay-2"), "quay"),
        (("a", "b"), "depth-burst-7"),
        (("s-1", "s-2"), "depth-burst-7"),
        (("Kai/Öl 1", "Kai/Öl 2"), "Kai/Öl"),
        (("ab\ncd1", "ab\ncd2"), "abcd"),
        (("x" * 199 + "1", "x" * 199 + "2"), "x" * 150),
    ],
)
def test_a_name_says_what_the_names_of_members_begin_with(
    members: tuple[str, ...], name: str
) -> None:
    assert name_of(members, "depth", 7) == name


def test_no_name_is_proposed_twice() -> None:
    groups = [("quay-1", "quay-2"), ("quay-3", "quay-4"), ("quay-2a", "quay-2b"), ("a", "b")]
    names = proposals(groups * 3, "depth")
    assert len(set(names)) == len(names) == 12
    assert names[:3] == ["quay", "quay-2", "quay-3"]
    every = [name for each in names for name in alternatives(each, f"C-1-{each}")]
    # Whoever dodges a taken name meets nobody else who does.
    dodged = [set(alternatives(each, f"C-1-{each}")) - {each} for each in names]
    assert sum(map(len, dodged)) == len(set().union(*dodged))
    assert all(len(name) <= 200 for name in every)
