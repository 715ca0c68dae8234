"""Tallies as a kind of computation."""

import json
from typing import Any

from apps.accounts.models import User
from apps.catalog.models import Topic
from apps.common.errors import ApplicationError
from apps.plans.models import Plan
from apps.plans.services import plan_create
from apps.runs.models import Run
from apps.runs.selectors import Again, Answer, Computation, Question
from apps.runs.services.computations import next_number
from apps.systems.models import System
from tests.apps.runs.toy.models import Tally
from weir.errors import UnknownMethod
from weir.model.plan import Action, Source, Step
from weir.model.plan import Plan as Document


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


def plan(
    tally: Tally,
    *,
    actor: User | None,
    answerable: User | None,
    least_benefit: float,
    asked_by: str,
) -> Plan:
    """As many messages a second as there were words, for the first topic."""
    topic = Topic.objects.filter(system=tally.system).earliest("name")
    rate = Action(
        kind="set_flow_rate",
        target={"flow": topic.name, "broker": topic.node_costs.earliest("id").broker.name},
        after={"rate_per_s": float(tally.words), "burst": 1.0},
        effect=f"{topic.name} may send {tally.words} messages a second.",
    )
    document = Document(
        kind="tally",
        system=str(tally.system.public_id),
        model_version=tally.run.snapshot.model_version,
        snapshot_hash=tally.run.snapshot.content_hash,
        source=Source(kind="tally", id=str(tally.public_id), name=str(tally)),
        title=f"Enact {tally}",
        steps=(Step(actions=(rate,)),),
    )
    return plan_create(
        system=tally.system, actor=actor, document=document, run=tally.run, answerable=answerable
    )


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
    plan=plan,
    plan_again="Count again and make a new plan.",
)
