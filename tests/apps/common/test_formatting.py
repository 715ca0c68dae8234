"""Numbers in sentences."""

import pytest

from apps.common.formatting import counted, duration


@pytest.mark.parametrize(
    ("number", "sentence"),
    [(0, "0 classes are"), (1, "1 class is"), (2, "2 classes are"), (1200, "1,200 classes are")],
)
def test_what_is_counted_agrees_with_its_number(number: int, sentence: str) -> None:
    assert counted(number, "class is", "classes are") == sentence


def test_most_words_only_get_an_s() -> None:
    assert [counted(number, "agent") for number in (1, 2)] == ["1 agent", "2 agents"]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.4, "0 seconds"),
        (1, "1 second"),
        (99, "99 seconds"),
        (780, "13 minutes"),
        (6 * 3600, "6 hours"),
        (3 * 86_400, "3 days"),
    ],
)
def test_a_time_is_said_in_the_unit_that_people_use(seconds: float, words: str) -> None:
    assert duration(seconds) == words
