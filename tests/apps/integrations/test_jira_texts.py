"""What settings of Jira may be, and how texts become what Jira takes."""

from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.test import APIClient

from apps.integrations.connectors.jira import texts
from apps.integrations.connectors.jira.settings import JiraSettings
from apps.integrations.domain.contract import ChangeText
from tests.apps.integrations.jira_server import is_document, words_of
from tests.apps.integrations.test_jira import KINDS, STATES
from weir.errors import InvalidProblem


@pytest.mark.parametrize(
    ("changed", "field", "words"),
    [
        ({"kind": "task"}, "kind", "service_request"),
        ({"edition": "server"}, "edition", "data_center"),
        ({"service_desk": "OPS"}, "service_desk", "number"),
        ({"request_type": ""}, "request_type", "number"),
        ({"kind": "issue", "project": "a b"}, "project", "key"),
        ({"kind": "issue", "project": "OPS"}, "issue_type", "name"),
        ({"fields": {"summary": "x"}}, "fields", "filled by Weir"),
        ({"fields": {"a b": "x"}}, "fields", "no name"),
        ({"fields": "x"}, "fields", "object"),
        ({"start_field": "summary"}, "start_field", "customfield"),
        ({"start_field": "customfield_1", "fields": {"customfield_1": 1}}, "fields", "filled"),
        ({"refused_states": "approved"}, "refused_states", "approved"),
        ({"begin_state": "x" * 201}, "begin_state", "200"),
    ],
)
def test_wrong_setting_is_refused_at_its_field(
    changed: dict[str, Any], field: str, words: str
) -> None:
    values = {"address": "https://j.example.org", **KINDS["service_request"], **STATES, **changed}
    with pytest.raises(InvalidProblem, match=words) as caught:
        JiraSettings(**values)
    assert caught.value.path == field


def test_issue_shows_an_approval_only_by_a_state(api: APIClient) -> None:
    settings = {"address": "https://j.example.org", "kind": "issue", **KINDS["issue"]}
    body = {
        **{"name": "J", "product": "jira", "settings": settings},
        "credential": "env:WEIR_CREDENTIAL_J",
    }
    answer = api.post("/api/v1/connections", body, format="json")
    assert [error["field"] for error in answer.json()["errors"]] == ["approval_needed"]


LINES = st.text(st.characters(exclude_categories=("Cs",)), max_size=60)


@given(parts=st.lists(LINES, min_size=6, max_size=6), key=st.uuids())
def test_any_text_becomes_a_document_that_holds_its_words(parts: list[str], key: Any) -> None:
    names = ("title", "description", "justification", "implementation", "back_out", "test")
    values = dict(zip(names, parts, strict=True))
    text = ChangeText(key=str(key), starts_at="", ends_at="", link="", **values)
    sections = texts.sections_of(text)
    made = texts.document(sections)
    assert is_document(made)
    assert texts.markers(made) >= {texts.marker(str(key))}
    assert texts.markers(texts.plain(sections)) >= {texts.marker(str(key))}
    kept = "".join(words_of(made).split())
    for part in parts[1:]:
        assert "".join(part.split()) in kept


def test_correlation_id_is_kept_however_long_a_text_is() -> None:
    key = str(uuid4())
    names = ("title", "description", "justification", "implementation", "back_out", "test")
    text = ChangeText(
        key=key, starts_at="", ends_at="", link="", **dict.fromkeys(names, "word " * 20_000)
    )
    plain = texts.plain(texts.sections_of(text))
    assert texts.markers(plain) == {texts.marker(key)}
    assert len(plain) < 32_767
    assert len(texts.title_of(text)) <= 255
