"""Tallies as a kind of computation."""

import json
from typing import Any

from apps.common.errors import ApplicationError
from apps.runs.models import Run
from apps.runs.selectors import Again, Answer, Computation, Question
from apps.runs.services.computations import next_number
from apps.systems.models import System
from tests.apps.runs.toy.models import Tally
from weir.errors import UnknownMethod


def freeze(system: System | None, *, text: str, time_limit_s: float | None = None) -> Question:
    """The text."""
    if not text:
        raise ApplicationError("nothing_to_count", "text: give at least one word")
    return Question(payload=text.encode(), method="blanks", time_limit_s=time_limit_s)


def store(run: Run, row: None, answer: bytes) -> Answer:
    """One row."""
    plain = json.loads(answer)
    if plain["text"] != bytes(run.snapshot.payload).decode():
        raise ValueError("another text")
    tally = Tally.objects.create(
        system=run.system, run=run, number=next_number(Tally, run), words=plain["words"]
    )
    return Answer(payload=answer, kernel_version="1", row=tally)


def again(asked: Again) -> dict[str, Any]:
    """The reason has words, too."""
    return {"text": asked.note, "time_limit_s": asked.time_limit_s}


class Blanks:
    """The only method."""

    TITLE = "Between blanks"
    SUMMARY = "Counts what stands between blanks."


def find_method(name: str) -> type[Blanks]:
    """The method of this name."""
    if name != "blanks":
        raise UnknownMethod(f'no way "{name}" to count; known is blanks')
    return Blanks


TALLY = Computation(
    kind="tally",
    title="Words",
    noun="tally",
    address="/api/v1/tallies",
    kernel="tests.apps.runs.toy.kernel",
    snapshot_type="text/plain",
    model=Tally,
    freeze=freeze,
    store=store,
    topic="tally",
    describe=lambda tally: f"{tally}: {tally.words} words.",
    methods=lambda: {"blanks": Blanks},
    find_method=find_method,
    again=again,
)
