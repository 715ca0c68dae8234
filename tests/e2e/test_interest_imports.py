"""Interests of many subscribers are imported from a file: one wrong line refuses all, the corrected
file is checked and imported, and removing the same file puts everything back."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import FilePayload, Locator, Page, expect

from tests.e2e.api import Api
from tests.e2e.browsing import inaccessible

pytestmark = pytest.mark.e2e

SUBSCRIBERS, TOPICS_EACH = 15, 20
NEW = SUBSCRIBERS * TOPICS_EACH
REPEATED = 2
WRONG_AT = 151
"""The line of the file that is wrong, counted as an editor counts."""
HEAD = "subscriber,topic"


def exported(rest: Api, system: str) -> str:
    """Every interest of the system, as its CSV."""
    answer = rest.client.get("/api/v1/interests/export", params={"system": system})
    answer.raise_for_status()
    return answer.text


def pairs_of(csv: str) -> set[str]:
    """The lines of an export; no name of the demo needs quotes."""
    head, *lines = csv.splitlines()
    assert head == HEAD
    assert len(lines) == len(set(lines))
    return set(lines)


def listed(rest: Api, kind: str, system: str) -> list[Any]:
    rows: list[Any] = []
    page = rest.get(f"/api/v1/{kind}", system=system, page_size=500, ordering="name")
    rows.extend(page["results"])
    while page["next"]:
        page = rest.client.get(page["next"]).json()
        rows.extend(page["results"])
    return rows


@pytest.fixture
def quarry(rest: Api) -> Iterator[str]:
    """The id of the demo's market, whose interests are put back where a test failed half-way."""
    system = str(rest.system("Quarry")["id"])
    before = exported(rest, system)
    yield system
    extra = pairs_of(exported(rest, system)) - pairs_of(before)
    if extra:
        answer = rest.client.post(
            "/api/v1/interest-imports",
            params={"system": system, "mode": "remove"},
            content="\n".join([HEAD, *sorted(extra)]).encode(),
            headers={"Content-Type": "text/csv"},
        )
        assert answer.status_code == 202, answer.text
        rest.wait(answer.headers["Location"], lambda row: row["ended_at"] is not None, 60)
        assert exported(rest, system) == before


@pytest.fixture
def lines(rest: Api, quarry: str) -> list[str]:
    """Interests that nobody has yet: of every fourth subscriber, the first topics that it lacks."""
    has = pairs_of(exported(rest, quarry))
    users = [row["name"] for row in listed(rest, "subscribers", quarry)][::4][:SUBSCRIBERS]
    topics = [row["name"] for row in listed(rest, "topics", quarry)]
    lacks = {u: [t for t in topics if f"{u},{t}" not in has][:TOPICS_EACH] for u in users}
    made = [f"{user},{topic}" for user, missing in lacks.items() for topic in missing]
    assert len(made) == NEW
    return made


def file_of(name: str, lines: list[str]) -> FilePayload:
    return {
        "name": name,
        "mimeType": "text/csv",
        "buffer": "\r\n".join([HEAD, *lines, ""]).encode(),
    }


def latest(rest: Api, system: str) -> Any:
    return rest.get("/api/v1/interest-imports", system=system)["results"][0]


def expect_figures(within: Locator, row: Any) -> None:
    """Every number of the outcome is the one of the API."""
    labels = (
        ("Would be added", "Would be removed", "Would stay", "Repeated", "Subscribers")
        if row["dry_run"]
        else ("Added", "Removed", "Unchanged", "Repeated", "Subscribers")
    )
    fields = ("added", "removed", "unchanged", "repeated", "subscribers_changed")
    for label, field in zip(labels, fields, strict=True):
        figure = within.locator(".fig").filter(has_text=label)
        expect(figure.locator("dd").first).to_have_text(f"{row[field]:,}")
    expect(within.locator(".figs")).to_contain_text(f"of {row['lines']:,} lines")
    expect(within.locator(".figs")).to_contain_text(f"and {row['subscribers_created']:,} new")


def test_a_file_is_refused_corrected_checked_imported_and_taken_back(
    quarry: str, lines: list[str], rest: Api, person: Callable[[str], Page]
) -> None:
    before = exported(rest, quarry)
    version = rest.get(f"/api/v1/systems/{quarry}")["model_version"]
    versions = {row["name"]: row["version"] for row in listed(rest, "subscribers", quarry)}
    good = [*lines, *lines[:REPEATED]]
    wrong = good.copy()
    wrong.insert(WRONG_AT - 2, f"{lines[0].split(',')[0]},no.such.topic")

    page = person("editor")
    page.goto(f"/systems/{quarry}/subscribers")
    page.get_by_role("button", name="Import interests").click()
    dialog = page.get_by_role("dialog", name="Import interests")
    expect(dialog).to_contain_text("at most 128 MiB and 5,000,000 lines")
    picker = dialog.get_by_label("Choose CSV file")
    picker.set_input_files(file_of("wrong.csv", wrong))
    dialog.get_by_role("button", name="Import", exact=True).click()

    # One wrong line refuses all.
    errors = dialog.get_by_role("table", name="Errors by line")
    expect(errors.get_by_role("row")).to_have_count(2)
    refused = latest(rest, quarry)
    assert (refused["state"], refused["error_count"]) == ("refused", 1)
    (error,) = refused["errors"]
    assert (error["line"], error["field"]) == (WRONG_AT, "topic")
    for cell in (str(WRONG_AT), "topic", error["message"]):
        expect(errors.get_by_role("cell", name=cell, exact=True)).to_be_visible()
    assert "no.such.topic" in error["message"]
    assert exported(rest, quarry) == before
    assert rest.get(f"/api/v1/systems/{quarry}")["model_version"] == version
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert inaccessible(page) == {}

    # The corrected file is checked, which changes nothing.
    dialog.get_by_role("button", name="Choose the corrected file").click()
    picker.set_input_files(file_of("good.csv", good))
    dialog.get_by_role("button", name="Check first").click()
    expect(dialog.get_by_text("no line is wrong, nothing was changed")).to_be_visible()
    checked = latest(rest, quarry)
    assert (checked["dry_run"], checked["model_version"]) == (True, None)
    counts = {
        **{"lines": NEW + REPEATED, "repeated": REPEATED, "added": NEW, "removed": 0},
        **{"unchanged": 0, "subscribers_changed": SUBSCRIBERS, "subscribers_created": 0},
    }
    assert {name: checked[name] for name in counts} == counts
    expect_figures(dialog, checked)
    assert exported(rest, quarry) == before

    # Then the same file is imported without being chosen again.
    dialog.get_by_role("button", name="Import now").click()
    expect(dialog.get_by_text(f"Imported: the model is v{version + 1:,}.")).to_be_visible()
    imported = latest(rest, quarry)
    assert {name: imported[name] for name in counts} == counts
    assert (imported["state"], imported["model_version"]) == ("succeeded", version + 1)
    assert imported["size_bytes"] == checked["size_bytes"] == len(file_of("", good)["buffer"])
    expect_figures(dialog, imported)
    assert pairs_of(exported(rest, quarry)) == pairs_of(before) | set(lines)
    changed = {line.split(",")[0] for line in lines}
    assert {row["name"]: row["version"] for row in listed(rest, "subscribers", quarry)} == {
        name: number + (name in changed) for name, number in versions.items()
    }
    dialog.get_by_role("button", name="Close", exact=True).last.click()
    recent = page.get_by_role("list", name="Latest imports of interests")
    expect(recent).to_contain_text(f"{imported['name']}")

    # Removing the same file puts it back.
    page.get_by_role("button", name="Import interests").click()
    dialog.get_by_role("radio", name=re.compile("^Remove")).check()
    picker.set_input_files(file_of("good.csv", good))
    dialog.get_by_role("button", name="Import", exact=True).click()
    expect(dialog.get_by_text(f"Imported: the model is v{version + 2:,}.")).to_be_visible()
    removed = latest(rest, quarry)
    assert (removed["added"], removed["removed"], removed["mode"]) == (0, NEW, "remove")
    expect_figures(dialog, removed)
    assert exported(rest, quarry) == before

    # The list has all four, the latest first, and leads to each.
    dialog.get_by_role("button", name="Close", exact=True).last.click()
    page.get_by_role("link", name="All imports").click()
    table = page.get_by_role("table", name="Imports")
    rows = rest.get("/api/v1/interest-imports", system=quarry)["results"]
    assert [row["id"] for row in rows[:4]] == [
        row["id"] for row in (removed, imported, checked, refused)
    ]
    for row in rows[:4]:
        shown = table.get_by_role("row").filter(
            has=page.get_by_role("link", name=row["name"], exact=True)
        )
        expect(shown).to_contain_text(f"{row['lines']:,}")
        if row["state"] == "succeeded":
            expect(shown).to_contain_text(f"{row['added']:,}{row['removed']:,}{row['unchanged']:,}")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert inaccessible(page) == {}
    table.get_by_role("link", name=refused["name"], exact=True).click()
    expect(page.get_by_role("heading", name=f"Import {refused['name']}")).to_be_visible()
    expect(page.get_by_role("table", name="Errors by line")).to_contain_text(error["message"])


def test_whoever_may_not_edit_sees_imports_and_starts_none(
    quarry: str, rest: Api, person: Callable[[str], Page]
) -> None:
    page = person("viewer")
    page.goto(f"/systems/{quarry}/subscribers?import=interests")
    link = page.get_by_role("link", name="Export interests")
    expect(link).to_be_visible()
    with page.expect_download() as download:
        link.click()
    assert download.value.path().read_text() == exported(rest, quarry)
    expect(page.get_by_role("button", name="Import interests")).to_have_count(0)
    expect(page.get_by_role("dialog")).to_have_count(0)
