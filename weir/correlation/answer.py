"""Answer a frozen activity with the groups that burst together (see weir/kernel.py)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from weir.codec.correlation import (
    CorrelationAnswer,
    answer_bytes,
    search_from_dict,
    snapshot_from_json,
)
from weir.correlation.suggest import suggest
from weir.errors import InvalidProblem

if TYPE_CHECKING:
    from weir.kernel import Call


def answer(payload: bytes, call: Call) -> bytes:
    """Read a frozen activity, search it, return the answer in its one spelling.

    Raises InvalidProblem naming the field, also for a recording: its messages are not in the
    payload, and only the job on Spark reads them.
    """
    snapshot, search = snapshot_from_json(payload), search_from_dict(call.parameters)
    if snapshot.activity is None:
        raise InvalidProblem("source.kind", "a recording is read by Spark, not by this call")
    suggested = suggest(snapshot.activity, search, report=call.report, stop=call.stop)
    messages = suggested.messages + snapshot.untimed_messages
    return answer_bytes(
        CorrelationAnswer(
            topic=snapshot.topic,
            search=search,
            suggested=replace(suggested, messages=messages),
            untimed=snapshot.untimed,
        )
    )
