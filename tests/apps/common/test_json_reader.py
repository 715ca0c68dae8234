"""What others send is read in one place: whatever comes through can be kept and answered."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.common.json_reader import DEEPEST, UnreadableJson, read_json

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=20,
)


@given(VALUES)
def test_reads_back_what_was_written(value: object) -> None:
    assert read_json(json.dumps(value).encode()) == value
    assert read_json(json.dumps(value, ensure_ascii=False).encode()) == value


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        (rb'"\ud800"', ""),
        (rb'{"system": "\ud800"}', "system"),
        (rb'{"a": [{"b": "x"}, {"b": "\uDFFFx"}]}', "a[1].b"),
        (rb'{"a": {"\udc00": 1}}', "a"),
        (rb'{"\udc00": {"b": "\udc00"}}', ""),
        (rb'["\ud83d", "\ude00"]', "[0]"),
    ],
)
def test_half_a_pair_is_refused_where_it_is(raw: bytes, path: str) -> None:
    with pytest.raises(UnreadableJson, match="half of a surrogate pair") as caught:
        read_json(raw)
    assert caught.value.path == path
    str(caught.value).encode()


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        (rb'"\u0000"', ""),
        (rb'{"rows": [{"name": "a\u0000x"}]}', "rows[0].name"),
        (rb'{"a": {"\u0000": {"b": "\u0000"}}}', "a"),
    ],
)
def test_a_null_character_is_refused_where_it_is(raw: bytes, path: str) -> None:
    with pytest.raises(UnreadableJson, match="null character") as caught:
        read_json(raw)
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        (b'{"a": 1, "a": 2}', "a"),
        (b'{"a": 1, "a": 1}', "a"),
        (rb'{"a": 1, "\u0061": 2}', "a"),
        (b'{"rows": [{"b": 0}, {"b": {"c": [], "d": 1, "c": []}}]}', "rows[1].b.c"),
        (b'[[], [{"a": 1, "b": 2, "b": 3}]]', "[1][0].b"),
        # The object with the inner one is gone by the time that the outer one is read.
        (b'{"a": {"b": 1, "b": 2}, "a": 3}', "a"),
        (rb'{"a": {"\udc00": 1, "\udc00": 2}}', "a"),
        (b'{"": 1, "": 2}', ""),
    ],
)
def test_a_member_that_is_there_twice_is_refused_by_its_path(raw: bytes, path: str) -> None:
    with pytest.raises(UnreadableJson, match="more than once") as caught:
        read_json(raw)
    assert caught.value.path == path


def test_the_same_name_in_several_objects_is_no_doubling() -> None:
    assert read_json(b'{"a": {"a": [{"a": 1}, {"a": 1}]}, "A": 1}')


@given(VALUES)
def test_whatever_is_added_twice_anywhere_is_refused(value: object) -> None:
    twice = b'{"x": 1, "x": ' + json.dumps(value).encode() + b"}"
    for raw in (twice, b"[1, " + twice + b"]", b'{"y": ' + twice + b', "z": 0}'):
        with pytest.raises(UnreadableJson, match="more than once"):
            read_json(raw)


def test_what_only_looks_like_a_null_character_is_text() -> None:
    assert read_json(rb'"\\u0000"') == r"\u0000"


def test_a_whole_pair_is_a_letter() -> None:
    assert read_json(rb'"\ud83d\ude00"') == "😀"


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_nesting_without_end_is_refused(opening: bytes) -> None:
    closing = b"]" if opening == b"[" else b"}"
    for depth in (DEEPEST + 1, 500, 200_000):
        with pytest.raises(UnreadableJson, match="nested"):
            read_json(opening * depth + b"1" + closing * depth)
    assert read_json(opening * DEEPEST + b"1" + closing * DEEPEST)


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"NaN", b"[-Infinity]", b"\xff\xfe", b"1 x", b'"\xed\xa0\x80"']
)
def test_what_is_no_json_is_refused(raw: bytes) -> None:
    with pytest.raises(UnreadableJson, match="not JSON"):
        read_json(raw)
