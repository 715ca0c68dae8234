"""What a sample of mutants is made of, and what a run that goes on keeps."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tests.mutants import results
from tests.mutants.mutant import Mutant, chosen, places_of

ROOT = Path(__file__).resolve().parents[2]
SOURCE = """\
LIMIT = 1

class Router:
    @property
    def links(self):
        return self._links

    def route(self, flow):
        def inner():
            return flow
        return inner
"""


def mutants(function: str, count: int) -> list[Mutant]:
    return [
        Mutant(
            file="agent/router.py",
            place=function,
            line=line,
            end_line=line,
            operator="NumberReplacer",
            occurrence=line,
            text=f"tries = {line}",
            nth=0,
        )
        for line in range(1, count + 1)
    ]


def test_sample_stays_when_lines_above_are_edited():
    before = mutants("Router.route", 200)
    after = [
        replace(m, line=m.line + 7, end_line=m.line + 7, occurrence=m.occurrence + 3)
        for m in before
    ]

    assert [m.key for m in chosen(after, 50, 1)] == [m.key for m in chosen(before, 50, 1)]


def test_new_mutants_only_take_the_places_they_win():
    before, new = mutants("Router.route", 200), mutants("Router.meet", 5)

    old_sample = {m.key for m in chosen(before, 50, 1)}
    sample = {m.key for m in chosen([*new, *before], 50, 1)}

    assert len(sample) == 50
    assert sample <= old_sample | {m.key for m in new}


def test_sample_does_not_depend_on_the_order_of_mutants():
    every = mutants("Router.route", 200)

    assert chosen(reversed(every), 50, 1) == chosen(every, 50, 1)


def test_another_seed_gives_another_sample():
    every = mutants("Router.route", 200)

    assert chosen(every, 50, 2) != chosen(every, 50, 1)


def test_sample_that_asks_for_more_than_there_are_takes_all():
    every = mutants("Router.route", 3)

    assert sorted(chosen(every, 50, 1), key=lambda m: m.line) == every


def test_place_of_a_line_is_the_innermost_function_or_class():
    place = places_of(SOURCE)

    lines = (1, 3, 4, 6, 8, 10, 11)
    assert [place(line) for line in lines] == [
        "",
        "Router",
        "Router.links",
        "Router.links",
        "Router.route",
        "Router.route.inner",
        "Router.route",
    ]


def test_run_that_goes_on_keeps_kills_and_tries_survivors_again(tmp_path):
    path = tmp_path / "results.jsonl"
    killed, late, survivor = mutants("Router.route", 3)
    results.add(path, killed, "killed", 4)
    results.add(path, late, results.SURVIVED, 2)
    results.add(path, survivor, results.SURVIVED, 1)
    results.add(path, late, "timeout", 3)

    assert results.kills(path) == {killed.key: ("killed", 4), late.key: ("timeout", 3)}


def test_run_without_results_begins_anew(tmp_path):
    assert results.kills(tmp_path / "results.jsonl") == {}


def test_each_equivalent_mutant_names_a_line_of_today():
    """A key whose line is gone excuses nothing and would mislead its reader."""
    for key in json.loads((Path(__file__).parent / "equivalent.json").read_text(encoding="utf-8")):
        file, place, _, text, _ = key.split(" | ")
        source = (ROOT / file).read_text(encoding="utf-8")
        place_of = places_of(source)
        places = [
            number
            for number, line in enumerate(source.splitlines(), start=1)
            if line.strip() == text and place_of(number) == place
        ]
        assert places, key
