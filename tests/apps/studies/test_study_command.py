"""`manage.py study`: files in, files out, one line for every mistake."""

import csv
import json

import pytest
from django.core.management import call_command

from tests.factories.runs import GOLDEN
from tests.factories.studies import sweep_spec
from weir.codec import content_hash, problem_from_json


@pytest.fixture
def files(tmp_path):
    (tmp_path / "spec.json").write_text(json.dumps(sweep_spec("S2")))
    return tmp_path


def run(files, *more, problem=GOLDEN):
    call_command(
        "study",
        str(files / "spec.json"),
        "--problem",
        str(problem),
        "--out",
        str(files / "out.json"),
        *more,
    )


def test_writes_every_point_and_a_table(files):
    run(files, "--csv", str(files / "out.csv"))
    document = json.loads((files / "out.json").read_text())
    assert document["problem_hash"] == content_hash(problem_from_json(GOLDEN.read_bytes()))
    assert [point["coordinates"] for point in document["points"]] == [[], [0.5], [1.0], [1.5]]
    utilities = [point["utility"] for point in document["points"]]
    assert utilities[1] < utilities[2] < utilities[3]
    lines = list(csv.DictReader((files / "out.csv").open()))
    assert [float(line["utility"]) for line in lines] == utilities


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON at line 1"),
        ('{"kind": "sweep"}', 'missing key "methods"'),
        (json.dumps(sweep_spec("S9")), 'axes[0].edit.nodes[0]: no node "S9"'),
    ],
)
def test_bad_study_is_one_line_and_nothing_is_written(files, capsys, text, words):
    (files / "spec.json").write_text(text)
    with pytest.raises(SystemExit) as end:
        run(files)
    assert end.value.code == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert not (files / "out.json").exists()


def test_missing_problem_file_is_bad_input(files, capsys):
    with pytest.raises(SystemExit) as end:
        run(files, problem=files / "nothing.json")
    assert end.value.code == 2
    assert "nothing.json" in capsys.readouterr().err
