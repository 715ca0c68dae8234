"""`manage.py compare_methods`: the table, and what bad input gets."""

import io
import json

import pytest
from django.core.management import call_command

from tests.factories.runs import GOLDEN, golden_problem


def compare(source, *options):
    out, said, status = io.StringIO(), io.StringIO(), 0
    try:
        call_command("compare_methods", str(source), *options, stdout=out, stderr=said)
    except SystemExit as end:
        status = int(end.code or 0)
    return status, out.getvalue(), said.getvalue()


def test_the_best_comes_first_under_the_proven_bound():
    status, table, said = compare(
        GOLDEN, "--method", "greedy", "--method", "lrgp", "--method", "certified"
    )
    assert (status, said) == (0, "")
    head, *rows, last = table.splitlines()
    assert head.split()[:3] == ["method", "status", "utility"]
    assert [row.split()[0] for row in rows] == ["certified", "lrgp", "greedy"]
    assert rows[1].split()[1:4] == ["solved", "1,329,010.42", "0.00018"]
    assert len({len(row) for row in rows}) == 1
    assert last.startswith("No allocation can exceed 1,329,01")


def test_nothing_fits(tmp_path):
    problem = golden_problem()
    problem["nodes"][0]["capacity"] = {"cpu": 0}
    source = tmp_path / "in.json"
    source.write_text(json.dumps(problem))
    status, table, said = compare(source)
    assert (status, table) == (1, "")
    assert "S0 cannot carry the minimum rates" in said


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--method", "magic"), 'no optimizer "magic"'),
        (("--seed", "-1"), "--seed: must be 0 or more"),
        (("--time-limit", "0"), "--time-limit: must be above 0"),
    ],
)
def test_bad_input_is_named(options, says):
    status, table, said = compare(GOLDEN, *options)
    assert (status, table) == (2, "")
    assert says in said
