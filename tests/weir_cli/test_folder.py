"""A system's files: what is written is read back exactly, and what is wrong is named."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weir_cli.ending import UNFIT, CommandError
from weir_cli.folder import FILES, SystemFiles, read_folder, write_folder

ID = UUID("0196a3f0-6b1c-7d50-a0a6-1c2f65f0a001")
NAMES = st.text(
    st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20
) | st.sampled_from(["=1+1", "'=x", "''-y", "a,b", 'a"b', " spaced ", "@", "ö"])
NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**60), 2**60)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(st.characters(exclude_categories=("Cs",))),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
ROWS = st.lists(
    st.builds(
        lambda name, more: {**more, "name": name}, NAMES, st.dictionaries(NAMES, VALUES, max_size=4)
    ),
    max_size=5,
    unique_by=lambda row: row["name"],
)


def system(**given: Any) -> SystemFiles:
    files = SystemFiles(
        id=ID,
        properties={"name": "harbour", "labels": {"team": "port"}},
        settings={"calibration": {"factor_min": 0.5}},
        kinds={"broker": [{"name": "b"}, {"name": "a"}], "subscriber": [{"name": "s"}]},
        interests={"s": ["t"]},
    )
    return replace(files, **given)


@given(
    kinds=st.dictionaries(st.sampled_from([*FILES]), ROWS, max_size=12),
    wanted=st.dictionaries(NAMES, st.lists(NAMES, min_size=1, unique=True, max_size=4), max_size=4),
    properties=st.dictionaries(NAMES, VALUES, max_size=4),
)
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, kinds: Any, wanted: Any, properties: Any
) -> None:
    folder = tmp_path_factory.mktemp("system")
    files = system(kinds={"subscriber": [], **kinds}, interests=wanted, properties=properties)
    write_folder(folder, files)
    again = read_folder(folder)
    assert again.properties == properties
    assert again.interests == {name: sorted(topics) for name, topics in wanted.items()}
    for kind, rows in files.kinds.items():
        assert again.kinds[kind] == sorted(rows, key=lambda row: str(row["name"]))
    assert again.kinds.keys() == files.kinds.keys()
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    write_folder(folder, again)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_member_has_a_line_of_its_own_so_that_a_diff_shows_it(tmp_path: Path) -> None:
    rows = [{"name": "a", "capacities": [{"resource": "cpu", "capacity": 9}], "labels": {}}]
    write_folder(tmp_path, system(kinds={"broker": rows}, interests=None))
    assert (tmp_path / "brokers.json").read_text() == (
        "[\n"
        "  {\n"
        '    "name": "a",\n'
        '    "capacities": [{"resource": "cpu", "capacity": 9}],\n'
        '    "labels": {}\n'
        "  }\n"
        "]\n"
    )


def test_a_new_export_leaves_nothing_of_a_former_one(tmp_path: Path) -> None:
    write_folder(tmp_path, system())
    (tmp_path / "README.md").write_text("Ours.")
    write_folder(tmp_path, system(kinds={"broker": []}, interests=None))
    assert {path.name for path in tmp_path.iterdir()} == {
        "README.md",
        "system.json",
        "brokers.json",
    }


@pytest.mark.parametrize("name", ["topics.json", "package.json", "interests.csv"])
def test_a_folder_of_something_else_is_not_written_to(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("[]")
    with pytest.raises(CommandError, match=f"has {name}, which no export of a system has written"):
        write_folder(tmp_path, system())
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("brokers.json", "[{]", r"brokers\.json: line 1, column 3"),
        ("brokers.json", "{}", r"brokers\.json: a list of objects is expected"),
        ("brokers.json", '[{"name": "a"}, 7]', r"brokers\.json: \[1\]: an object is expected"),
        ("brokers.json", '[{"name": "a", "name": "b"}]', r'brokers\.json: "name" is given twice'),
        ("brokers.json", '[{"name": "a", "map_x": NaN}]', r"brokers\.json: NaN is no number"),
        ("brokers.json", '[{"a": Infinity}]', r"brokers\.json: Infinity is no number"),
        ("brokers.json", "[" * 100_000, r"brokers\.json: nested too deeply"),
        ("brokers.json", b"\xff", r"brokers\.json: no UTF-8 \(byte 0\)"),
        ("broker.json", "[]", r"broker\.json: no file of a system; these are brokers\.json"),
        ("topics.JSON", "[]", r"topics\.JSON: no file of a system"),
        ("interest.csv", "", r"interest\.csv: no file of a system"),
        ("brokers.json", '[{"map_x": 1e999}]', r"brokers\.json: 1e999 is too large a number"),
        ("brokers.json", '[{"name": "\\ud800"}]', r"brokers\.json: a character is half of a pair"),
        ("brokers.json", '[{"a": ' * 490 + "1" + "}]" * 490, r"brokers\.json: nested too deeply"),
        ("system.json", "[]", r"system\.json: an object is expected"),
        ("system.json", '{"format": 2}', r"system\.json: format: 1 is expected, not 2"),
        ("system.json", '{"format": 1}', r"system\.json: id: no UUID"),
        ("system.json", '{"format": 1, "id": 7}', r"system\.json: id: no UUID"),
        ("system.json", f'{{"format": 1, "id": "{ID}", "x": 1}}', r"system\.json: x: no such"),
        (
            "system.json",
            f'{{"format": 1, "id": "{ID}", "settings": []}}',
            r"system\.json: settings: an object is expected",
        ),
        ("interests.csv", "", r"interests\.csv: line 1: the columns are subscriber,topic"),
        ("interests.csv", "topic,subscriber\nt,s\n", r"interests\.csv: line 1: the columns"),
        ("interests.csv", "subscriber,topic\ns\n", r"interests\.csv: line 2: .* not 1 value"),
        ("interests.csv", "subscriber,topic\ns,\n", r"interests\.csv: line 2: a subscriber and"),
        ("interests.csv", 'subscriber,topic\n"s"x,t\n', r"interests\.csv: line 2: "),
    ],
)
def test_what_is_wrong_is_named_by_file_and_entry(
    tmp_path: Path, name: str, text: str | bytes, message: str
) -> None:
    write_folder(tmp_path, system())
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(CommandError, match=message) as refusal:
        read_folder(tmp_path)
    assert refusal.value.status == UNFIT


def test_a_link_that_leads_nowhere_is_no_missing_file(tmp_path: Path) -> None:
    write_folder(tmp_path, system())
    (tmp_path / "brokers.json").unlink()
    (tmp_path / "brokers.json").symlink_to("gone.json")
    with pytest.raises(CommandError, match=r"brokers\.json: No such file"):
        read_folder(tmp_path)


def test_lines_that_repeat_others_are_no_error(tmp_path: Path) -> None:
    write_folder(tmp_path, system())
    (tmp_path / "interests.csv").write_text("subscriber,topic\ns,t\ns,u\ns,t\n\n")
    assert read_folder(tmp_path).interests == {"s": ["t", "u"]}


def test_interests_need_their_subscribers(tmp_path: Path) -> None:
    write_folder(tmp_path, system())
    (tmp_path / "subscribers.json").unlink()
    with pytest.raises(CommandError, match=r"interests\.csv needs subscribers\.json"):
        read_folder(tmp_path)


def test_a_folder_without_system_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"has no system\.json; `weir export SYSTEM"):
        read_folder(tmp_path)


def test_files_of_windows_editors_are_read(tmp_path: Path) -> None:
    write_folder(tmp_path, system())
    for path in tmp_path.iterdir():
        text = path.read_text().replace("\n", "\r\n")
        path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert read_folder(tmp_path).interests == {"s": ["t"]}
    assert json.loads((tmp_path / "brokers.json").read_text("utf-8-sig"))[0] == {"name": "a"}
