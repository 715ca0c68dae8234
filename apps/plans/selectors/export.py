"""Export a plan as a file, and as a text that a person can paste into a ticket."""

import json
from collections.abc import Iterable
from typing import Any

from apps.common.formatting import counted
from apps.plans.selectors.readings import DetailReading
from weir.codec.plan import plan_to_dict

WIDTH = 100
NOTHING = "not known"


def plan_as_json(reading: DetailReading) -> dict[str, Any]:
    """Return the document, its hash, and what people decided. `plan` alone gives the hash."""
    plan = reading.plan
    return {
        "name": str(plan),
        "state": reading.state,
        "content_hash": plan.content_hash,
        "plan": plan_to_dict(plan.content),
        "blast_radius": plan.blast_radius,
        "approvals": [
            {
                "person": row.person,
                "decision": row.decision,
                "comment": row.comment,
                "at": row.at.isoformat(),
                "valid": row.valid,
            }
            for row in reading.approvals
        ],
    }


def plan_as_text(reading: DetailReading) -> str:
    """Return everything a reviewer needs, as plain text."""
    head = f"{reading.plan} {reading.plan.title}"
    lines = [head, "=" * min(len(head), WIDTH), "", *_facts(reading)]
    needed = counted(reading.approvals_needed, "approval")
    for title, section in (
        ("Why", [f"- {sentence}" for sentence in reading.plan.content.why]),
        ("Promised", _promise(reading)),
        ("Blast radius", _blast_radius(reading)),
        *_steps(reading),
        ("Left out", [f"{row.label}: {row.because}" for row in reading.left_out]),
        ("Assumes", _envelope(reading)),
        ("Checks now", [f"[{row.state}] {row.title}: {row.detail}" for row in reading.checks]),
        (
            f"Decisions ({reading.approvals_given} of {needed})",
            _decisions(reading) or ["none"],
        ),
    ):
        if section:
            lines += ["", title, "-" * len(title), *section]
    return "\n".join(lines) + "\n"


def _facts(reading: DetailReading) -> list[str]:
    plan = reading.plan
    facts = [
        ("System", plan.system.name),
        ("State", reading.state.replace("_", " ")),
        ("Author", reading.author or "Weir"),
        ("Made", f"{plan.created_at:%Y-%m-%d %H:%M} UTC"),
        ("Source", f"{plan.source_kind.replace('_', ' ')} {plan.source_name}".strip()),
        ("Model version", str(plan.model_version)),
        ("Content hash", plan.content_hash),
    ]
    if plan.change_ticket:
        facts.append(("Change ticket", plan.change_ticket))
    if reading.stale_because:
        facts.append(("Stale because", reading.stale_because))
    return _table(facts)


def _promise(reading: DetailReading) -> list[str]:
    return _table(
        (row.name, f"{_number(row.before, row.unit)} -> {_number(row.after, row.unit)}")
        for row in reading.plan.content.promise
    )


def _blast_radius(reading: DetailReading) -> list[str]:
    blast = reading.plan.blast_radius
    return _table(
        [
            ("Brokers", f"{blast['brokers']} of {blast['brokers_total']}"),
            ("Topics", f"{blast['topics']} of {blast['topics_total']}"),
            ("Links", str(blast["links"])),
            ("Consumers admitted", str(blast["consumers_admitted"])),
            ("Consumers released", str(blast["consumers_released"])),
        ]
    )


def _steps(reading: DetailReading) -> Iterable[tuple[str, list[str]]]:
    for step in reading.steps:
        lines = []
        for action in step["actions"]:
            lines.append(f"{step['index'] + 1}.{action['index'] + 1} {action['title']}")
            lines += [f"    {action['effect']}"] if action["effect"] else []
            lines.append(f"    undo: {action['undo_title']}")
        yield f"Step {step['index'] + 1} of {len(reading.steps)}", lines


def _envelope(reading: DetailReading) -> list[str]:
    return _table(
        (row.name, f"{_number(row.low, row.unit)} to {_number(row.high, row.unit)}")
        for row in reading.envelope
    )


def _decisions(reading: DetailReading) -> list[str]:
    lines = []
    for row in reading.approvals:
        word = "approved" if row.decision == "approve" else "rejected"
        line = f"{row.at:%Y-%m-%d %H:%M} UTC {row.person} {word}"
        lines.append(line + (f": {row.comment}" if row.comment else ""))
        lines += [] if row.valid else [f"    no longer valid: {row.invalid_because}"]
    return lines


def _table(rows: Iterable[tuple[str, str]]) -> list[str]:
    pairs = list(rows)
    width = max((len(name) for name, _ in pairs), default=0)
    return [f"{name:<{width}}  {value}" for name, value in pairs]


def _number(value: float | None, unit: str) -> str:
    return NOTHING if value is None else f"{value:,.6g} {unit}".strip()


def plan_json_text(reading: DetailReading) -> str:
    """Return the file, indented for people, keys in the order of `plan_as_json`."""
    return json.dumps(plan_as_json(reading), indent=1, ensure_ascii=False) + "\n"
