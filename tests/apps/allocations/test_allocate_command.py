"""`manage.py allocate`: exit statuses, where the answer goes, and what bad input gets."""

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from tests.factories.runs import GOLDEN, PUBLISHED_UTILITY, golden_problem

ROOT = Path(__file__).resolve().parents[3]


class Outcome:
    """What a call of the command came to."""

    def __init__(self, status: int, said: str) -> None:
        self.status = status
        self.said = said


def allocate(source: Any, out: Any, *options: str) -> Outcome:
    said = io.StringIO()
    try:
        call_command("allocate", str(source), "--out", str(out), *options, stderr=said)
    except SystemExit as end:
        return Outcome(int(end.code or 0), said.getvalue())
    return Outcome(0, said.getvalue())


def written(folder: Path, problem: Any, name: str = "in.json") -> Path:
    path = folder / name
    path.write_text(problem if isinstance(problem, str) else json.dumps(problem))
    return path


def test_answer_is_written_with_status_0(tmp_path):
    out = tmp_path / "out.json"
    outcome = allocate(GOLDEN, out)
    assert (outcome.status, outcome.said) == (0, "")
    answer = json.loads(out.read_bytes())
    assert answer["status"] == "optimal"
    assert answer["utility"] >= 0.999 * PUBLISHED_UTILITY
    assert set(answer) == {
        *("status", "method", "rates", "populations", "utility", "upper_bound"),
        *("node_prices", "link_prices", "iterations", "trace"),
    }
    assert list(tmp_path.iterdir()) == [out]


def test_the_same_input_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        assert allocate(GOLDEN, tmp_path / name, "--seed", "3").status == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_order_of_the_input_never_matters(tmp_path):
    turned = golden_problem()
    for name in ("nodes", "links", "flows", "classes"):
        turned[name] = turned[name][::-1]
    assert allocate(GOLDEN, tmp_path / "a").status == 0
    assert allocate(written(tmp_path, turned), tmp_path / "b").status == 0
    assert json.loads((tmp_path / "a").read_bytes()) == json.loads((tmp_path / "b").read_bytes())


def test_infeasible_problem_is_status_1_and_its_answer_says_why(tmp_path):
    problem = golden_problem()
    for node in problem["nodes"]:
        node["capacity"] = {"cpu": 0}
    out = tmp_path / "out.json"
    outcome = allocate(written(tmp_path, problem), out)
    assert outcome.status == 1
    assert outcome.said.startswith("allocate: infeasible: ")
    answer = json.loads(out.read_bytes())
    assert answer["status"] == "infeasible"
    assert answer["reason"] in outcome.said
    for relaxation in answer["infeasibility"]["relaxations"]:
        assert relaxation["sentence"] in outcome.said


def test_time_limit_gives_the_best_so_far(tmp_path):
    out = tmp_path / "out.json"
    endless = ["--method", "lrgp", "--param", "max_iterations=1000000"]
    endless += ["--param", "patience=1000000"]
    assert allocate(GOLDEN, out, "--time-limit", "0.2", *endless).status == 0
    assert json.loads(out.read_bytes())["utility"] > 0


@pytest.mark.filterwarnings("ignore:.*RETRIES_EXCEEDED")
def test_no_answer_is_status_3(tmp_path, settings):
    settings.WEIR_SPARK_REMOTE = "sc://127.0.0.1:1"
    settings.WEIR_DATA_DIR = str(tmp_path / "data")
    out = tmp_path / "out.json"
    outcome = allocate(GOLDEN, out, "--engine", "spark")
    assert outcome.status == 3
    assert outcome.said.startswith("allocate: no answer: ")
    assert not out.exists()


def changed(entry: tuple[str, int], member: str, value: Any) -> str:
    problem = golden_problem()
    problem[entry[0]][entry[1]][member] = value
    return json.dumps(problem)


BAD = {
    "negative capacity": (changed(("nodes", 1), "capacity", {"cpu": -1}), "nodes[1].capacity"),
    "unknown node": (changed(("classes", 12), "node", "S9"), "classes[12].node"),
    "unknown flow": (changed(("classes", 12), "flow", "f99"), 'classes[12].flow: no flow "f99"'),
    "unknown link": (changed(("flows", 0), "link_costs", {"l9": 1}), "flows[0].link_costs"),
    "duplicate id": (changed(("flows", 3), "id", "f0"), "flows[3].id"),
    "not a number": (changed(("nodes", 0), "capacity", {"cpu": float("nan")}), "nodes[0].capacity"),
    "infinite": (changed(("flows", 1), "rate_max", float("inf")), "flows[1].rate_max"),
    "rate_min above rate_max": (changed(("flows", 4), "rate_min", 1e9), "flows[4].rate_min"),
    "unknown key": (changed(("flows", 4), "colour", "red"), "flows[4]"),
    "truncated": (GOLDEN.read_text()[:-40], "not JSON at line"),
    "empty": ("", "not JSON at line 1"),
    "no object": ("[]", "object"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_status_2_with_one_line_and_nothing_written(tmp_path, case):
    text, words = BAD[case]
    out = tmp_path / "out.json"
    outcome = allocate(written(tmp_path, text), out)
    assert outcome.status == 2
    assert outcome.said.startswith("allocate: ")
    assert words in outcome.said
    assert outcome.said.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["in.json"]


def test_former_answer_stays_when_the_input_is_bad(tmp_path):
    out = tmp_path / "out.json"
    out.write_text("precious")
    assert allocate(written(tmp_path, BAD["duplicate id"][0]), out).status == 2
    assert out.read_text() == "precious"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--method", "magic"], 'no optimizer "magic"; known are '),
        (["--param", "colour=red"], "colour"),
        (["--param", "max_iterations=0"], "max_iterations"),
        (["--param", "max_iterations"], "write NAME=VALUE"),
        (["--time-limit", "0"], "--time-limit"),
        (["--time-limit", "nan"], "--time-limit"),
        (["--seed", "-1"], "--seed"),
    ],
)
def test_bad_option_is_status_2_and_named(tmp_path, options, words):
    out = tmp_path / "out.json"
    outcome = allocate(GOLDEN, out, *options)
    assert outcome.status == 2
    assert words in outcome.said
    assert not out.exists()


@pytest.mark.parametrize("out", ["absent/out.json", "."])
def test_place_that_cannot_be_written_is_said_before_computing(tmp_path, out):
    outcome = allocate(GOLDEN, tmp_path / out)
    assert outcome.status == 2
    assert "cannot be written" in outcome.said


def test_input_that_is_not_there(tmp_path):
    outcome = allocate(tmp_path / "absent.json", tmp_path / "out.json")
    assert outcome.status == 2
    assert "absent.json: No such file" in outcome.said


class TestAsAProcess:
    """What a shell sees."""

    def run(self, *arguments: str, text: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run(
            [sys.executable, "manage.py", "allocate", *arguments],
            cwd=ROOT,
            input=text,
            capture_output=True,
            timeout=60,
            check=False,
        )

    def test_standard_input_to_standard_output(self, tmp_path):
        done = self.run("-", "--out", "-", text=GOLDEN.read_bytes())
        assert (done.returncode, done.stderr) == (0, b"")
        assert allocate(GOLDEN, tmp_path / "out.json").status == 0
        assert done.stdout == (tmp_path / "out.json").read_bytes()

    def test_bad_standard_input(self):
        done = self.run("-", "--out", "-", text=b"{")
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.startswith(b"allocate: not JSON at line 1")

    def test_usage(self):
        done = self.run("-")
        assert done.returncode == 2
        assert b"--out" in done.stderr


@pytest.mark.slow
@pytest.mark.timeout(30)
def test_million_lines_broken_in_the_last_get_one_line(tmp_path):
    entry = (
        '{{\n"id": "c{}",\n"flow": "{}",\n"node": "S0",\n"population_max": 4,\n"costs": {{\n'
        '"cpu": 19\n}},\n"utility": {{"kind": "log",\n"weight": 20}}\n}}'
    )
    count = 100_000
    head = {key: value for key, value in golden_problem().items() if key != "classes"}
    with (tmp_path / "in.json").open("w") as file:
        file.write(json.dumps(head)[:-1] + ', "classes": [\n')
        for index in range(count):
            flow = "f99" if index == count - 1 else "f0"
            file.write(entry.format(index, flow) + (",\n" if index < count - 1 else "\n"))
        file.write("]}\n")
    outcome = allocate(tmp_path / "in.json", tmp_path / "out.json")
    assert outcome.status == 2
    assert outcome.said.startswith(f'allocate: classes[{count - 1}].flow: no flow "f99"')
    assert outcome.said.count("\n") == 1
    assert not (tmp_path / "out.json").exists()
