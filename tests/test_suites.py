"""`make test` runs every test once, and says what each suite took."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.embedded import LONGEST
from tests.suites import LONG, ROOT, SUITES, Outcome, Suite, durations, main, run, table

REPORT = """<testsuites><testsuite>
<testcase classname="tests.weir.test_a" name="test_one" time="0.5"/>
<testcase classname="tests.weir.test_b" name="test_two" time="2.25"/>
</testsuite></testsuites>"""


def of_suite(path: Path, suites: Iterable[Suite] = SUITES) -> list[str]:
    """The suites that run this file."""

    def below(folders: list[str]) -> bool:
        return any(path == ROOT / folder or ROOT / folder in path.parents for folder in folders)

    files = []
    for suite in suites:
        arguments = suite.command[1:]
        ignored = [a.partition("=")[2] for a in arguments if a.startswith("--ignore=")]
        named = [a for a in arguments if not a.startswith("-")] or ["tests"]
        if below(named) and not below(ignored):
            files.append(suite.name)
    return files


def test_every_file_of_tests_is_in_one_suite() -> None:
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    assert len(files) > 300
    assert {str(path): of_suite(path) for path in files if len(of_suite(path)) != 1} == {}


def test_what_tries_more_when_there_is_time_is_given_it() -> None:
    longer = files_with(r"\beffort\(")
    assert len(longer) > 25
    whole = [suite for suite in LONG if suite.thorough and "-mthorough" not in suite.command]
    assert [str(path) for path in longer if len(of_suite(path, whole)) != 1] == []


def test_what_is_left_out_has_a_suite() -> None:
    left_out = files_with(r"\bmark\.thorough\b")
    assert len(left_out) > 5
    thorough = [suite for suite in LONG if suite.thorough]
    assert [str(path) for path in left_out if not of_suite(path, thorough)] == []


def files_with(pattern: str) -> list[Path]:
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [path for path in files if re.search(pattern, path.read_text(encoding="utf-8"))]


def test_the_longest_files_are_there() -> None:
    assert [path for path in LONGEST[1:] if not (ROOT / path).exists()] == []


def test_contributing_says_what_each_may_take() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w[\w ]*) \| ([^|]+) \| [\d,]+ \| (\d+) \|$", text, flags=re.MULTILINE)
    assert rows == [(suite.name, suite.asks, str(suite.budget_s)) for suite in SUITES]
    assert sum(suite.budget_s or 0 for suite in SUITES) <= 15 * 60


def test_durations_come_from_the_report(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    assert durations(report) == [
        (0.5, "tests.weir.test_a.test_one"),
        (2.25, "tests.weir.test_b.test_two"),
    ]


def test_the_table_shows_who_is_over_its_budget_and_who_failed() -> None:
    first, second = Suite("one", "", (), 180), Suite("two", "", ())
    lines = table(
        [
            Outcome(first, 181.0, 0, 7, ((2.25, "a.test_two"),)),
            Outcome(second, 1.0, 1, 0, ()),
        ],
        190.0,
    ).splitlines()
    assert lines[1].split() == ["one", "7", "181", "180", "over"]
    assert lines[2].split() == ["two", "-", "1", "-", "failed"]
    assert lines[3].split() == ["all", "7", "190", "180"]
    assert lines[-1].split() == ["2.2", "s", "a.test_two"]


# Modules of the standard library: one ends well, the other with status 2 for want of an argument.
WELL, BADLY = ("timeit", "-n1", "-r1", "pass"), ("timeit", "--unknown")


def test_a_failed_suite_ends_the_run(capfd: pytest.CaptureFixture[str]) -> None:
    suites = [Suite("one", "", WELL), Suite("two", "", BADLY), Suite("three", "", WELL)]
    assert run(suites, to_the_end=False) == 2
    out, _ = capfd.readouterr()
    assert re.search(r"^two +- +\d+ +- +failed$", out, flags=re.MULTILINE)
    assert "three" not in out


def test_a_thorough_run_goes_on_and_fails_for_a_budget(capfd: pytest.CaptureFixture[str]) -> None:
    suites = [Suite("one", "", BADLY), Suite("two", "", WELL, budget_s=0)]
    assert run(suites, to_the_end=True) == 2
    assert run(suites[1:], to_the_end=True) == 1
    assert run(suites[1:], to_the_end=False) == 0
    assert capfd.readouterr().err.count("over its budget: two") == 2


def test_an_unknown_suite_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["suites", "nightly"])
    assert main() == 2
    assert "no suite 'nightly'; there are kernels, server" in capsys.readouterr().err
