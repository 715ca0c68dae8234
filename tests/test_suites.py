"""`make test` runs every test once, and says what each suite took."""

import re
from pathlib import Path

import pytest

from tests.suites import ROOT, SUITES, Outcome, durations, main, table

REPORT = """<testsuites><testsuite>
<testcase classname="tests.weir.test_a" name="test_one" time="0.5"/>
<testcase classname="tests.weir.test_b" name="test_two" time="2.25"/>
</testsuite></testsuites>"""


def of_suite(path: Path) -> list[str]:
    """The suites that run this file."""

    def below(folders: list[str]) -> bool:
        return any(path == ROOT / folder or ROOT / folder in path.parents for folder in folders)

    found = []
    for suite in SUITES:
        ignored = [a.partition("=")[2] for a in suite.arguments if a.startswith("--ignore=")]
        named = [a for a in suite.arguments if not a.startswith("-")] or ["tests"]
        if below(named) and not below(ignored):
            found.append(suite.name)
    return found


def test_every_file_of_tests_is_in_one_suite() -> None:
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    assert len(files) > 300
    assert {str(path): of_suite(path) for path in files if len(of_suite(path)) != 1} == {}


def test_contributing_says_what_each_may_take() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w[\w ]*) \| ([^|]+) \| [\d,]+ \| (\d+) \|$", text, flags=re.MULTILINE)
    assert rows == [(suite.name, suite.asks, str(suite.budget_s)) for suite in SUITES]
    assert sum(suite.budget_s for suite in SUITES) <= 15 * 60


def test_durations_come_from_the_report(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    assert durations(report) == [
        (0.5, "tests.weir.test_a.test_one"),
        (2.25, "tests.weir.test_b.test_two"),
    ]


def test_the_table_shows_who_is_over_its_budget_and_who_failed() -> None:
    first, second = SUITES[:2]
    lines = table(
        [
            Outcome(first, first.budget_s + 1.0, 0, 7, ((2.25, "a.test_two"),)),
            Outcome(second, 1.0, 1, 3, ()),
        ]
    ).splitlines()
    assert lines[1].split() == [
        *(first.name, "7", str(first.budget_s + 1), str(first.budget_s), "over")
    ]
    assert lines[2].split() == [second.name, "3", "1", str(second.budget_s), "failed"]
    assert lines[3].split()[:3] == ["all", "10", str(first.budget_s + 2)]
    assert lines[-1].split() == ["2.2", "s", "a.test_two"]


def test_an_unknown_suite_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["suites", "nightly"])
    assert main() == 2
    assert "no suite 'nightly'; there are kernels, server" in capsys.readouterr().err
