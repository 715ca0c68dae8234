"""Apps document their own part of the API; nothing is documented twice."""

from collections import Counter

import pytest
from django.conf import settings

from config import api_examples, api_meanings, api_tags
from config.api_documentation import documented


@pytest.mark.parametrize("what", ["TAGS", "ENUM_NAMES", "MEANINGS", "MACHINES", "REQUESTS"])
def test_no_two_apps_document_the_same_name(what: str) -> None:
    names = Counter(name for app in settings.INSTALLED_APPS for name in documented([app], what))
    assert names
    assert not [name for name, times in names.items() if times > 1]


@pytest.mark.parametrize(
    ("what", "whole"),
    [("MEANINGS", api_meanings.MEANINGS), ("REQUESTS", api_examples.REQUESTS)],
)
def test_what_an_app_documents_stands_as_it_says(what: str, whole: dict[str, object]) -> None:
    for name, text in documented(settings.INSTALLED_APPS, what).items():
        assert whole[name] == text


def test_groups_of_operations_are_sorted_by_name() -> None:
    names = [tag["name"] for tag in api_tags.tags_of(settings.INSTALLED_APPS)]
    assert names == sorted(names)
    assert "studies" in names
    assert "studies" not in [tag["name"] for tag in api_tags.tags_of(["apps.catalog"])]
