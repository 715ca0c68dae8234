"""Which events a webhook wants, and when it is tried again."""

import base64
import re
import uuid
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook

from apps.pipeline.domain.alerts import AlertAction
from apps.recomputation.models import Schedule, Trigger
from apps.systems.selectors import kinds_of_the_model
from apps.webhooks.domain.event_types import (
    KINDS,
    check_patterns,
    is_wanted,
    type_of,
    types_of,
)
from apps.webhooks.domain.retries import LONGEST_WAIT, PAUSES_S, next_attempt
from apps.webhooks.domain.signing import secret_of, signatures
from apps.webhooks.selectors.bodies import PAGES
from weir.errors import InvalidProblem
from weir.lifecycle.executions import ExecutionCommand
from weir.lifecycle.fits import FitCommand
from weir.lifecycle.plans import PlanCommand
from weir.lifecycle.steps import STEPS
from weir.lifecycle.suggestions import SuggestionCommand

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("event", "patterns", "wanted"),
    [
        ("weir.plan.approve", ["weir.plan.approve"], True),
        ("weir.plan.approve", ["weir.plan.*"], True),
        ("weir.plan.approve", ["*"], True),
        ("weir.plan.approve", ["weir.plan.reject", "weir.run.*"], False),
        ("weir.session.sign_in", ["*"], False),
        ("weir.session.sign_in", ["weir.session.*"], True),
        ("weir.token.create", ["*", "weir.token.create"], True),
    ],
)
def test_patterns(event: str, patterns: list[str], wanted: bool) -> None:
    assert is_wanted(event, patterns) is wanted


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "plan",
        "weir.*",
        "weir.plan",
        "weir.plan.",
        "weir.ship.*",
        "weir.plan.*.x",
        "weir.plan.aprove",
    ],
)
def test_pattern_that_no_event_fits_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidProblem) as refusal:
        check_patterns(["*", pattern])
    assert refusal.value.path == "types[1]"


def test_types_are_words_of_the_history() -> None:
    assert type_of("recomputation schedule", "update") == "weir.recomputation_schedule.update"
    for kind in KINDS:
        check_patterns(types_of(kind))
        assert all(is_wanted(one, [f"weir.{kind}.*"]) for one in types_of(kind))


def test_kinds_are_those_that_the_history_knows() -> None:
    literal = re.compile(r'(?:object_kind|audited_as|AUDITED_AS)\s*=\s*"(\w+)"')
    files = (ROOT / "apps").rglob("*.py")
    written = {kind for file in files for kind in literal.findall(file.read_text())}
    rules = {str(one._meta.verbose_name) for one in (Schedule, Trigger)}
    settings = {*("calibration_settings", "demand_settings", "mapping_settings", "record_settings")}
    assert written | rules | settings | kinds_of_the_model() == KINDS.keys()


def test_actions_are_those_that_tables_and_services_know() -> None:
    assert {command.value for command in PlanCommand} <= set(KINDS["plan"].actions)
    assert {command.value for command in ExecutionCommand} <= set(KINDS["execution"].actions)
    ends = {f"step_{state.value}" for state in STEPS.ended}
    assert ends <= set(KINDS["execution"].actions)
    assert {command.value for command in FitCommand} == set(KINDS["fit"].actions)
    assert {action.value for action in AlertAction} <= set(KINDS["slo"].actions)
    suggestions = {command.value for command in SuggestionCommand}
    assert suggestions == set(KINDS["correlation_suggestion"].actions)
    words = (ROOT / "frontend/src/lib/words.ts").read_text()
    known = set(re.findall(r"^  (\w+): ", words, re.MULTILINE))
    assert {action for kind in KINDS.values() for action in kind.actions} <= known


def test_pages_are_those_of_the_browser() -> None:
    kinds = (ROOT / "frontend/src/lib/kinds.ts").read_text()
    for kind, page in PAGES.items():
        place = page.split("/")[1] if page.count("/") == 2 else page.split("/")[3]
        assert f"/{place}" in kinds or f'"{place}": {{' in kinds or f"{place}: {{" in kinds, kind


def test_attempts_go_on_for_three_days() -> None:
    pauses = [next_attempt(number) for number in range(1, len(PAUSES_S) + 1)]
    assert 60 * 3600 < sum(one.total_seconds() for one in pauses if one) < 90 * 3600
    assert next_attempt(len(PAUSES_S) + 1) is None
    waited = next_attempt(1, retry_after_s=90.0)
    assert waited is not None
    assert waited.total_seconds() == 90.0
    assert next_attempt(1, retry_after_s=1e300) == LONGEST_WAIT


@given(st.text(min_size=1), st.text(), st.integers(1, 10))
def test_signatures_are_those_of_the_published_package(key: str, body: str, count: int) -> None:
    hook, at = uuid.UUID(int=7), 1_795_000_000
    secrets = [secret_of(key, hook, generation) for generation in range(count)]
    assert len(set(secrets)) == count
    assert all(len(base64.b64decode(one.removeprefix("whsec_"))) == 32 for one in secrets)
    header = signatures(secrets, "msg", at, body.encode())
    when = datetime.fromtimestamp(at, tz=UTC)
    assert header.split() == [Webhook(one).sign("msg", when, body) for one in secrets]
