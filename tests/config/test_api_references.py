"""Whoever reads an answer learns the id and the name of every object that it refers to."""

from collections.abc import Iterator
from typing import Any

from drf_spectacular.generators import SchemaGenerator

SCHEMA: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
COMPONENTS: dict[str, Any] = SCHEMA["components"]["schemas"]
PEOPLE = ("asked_by", "author", "answerable", "decided_by", "started_by")
NAMED_OTHERWISE = {
    # The field `answer` names whatever a run computes.
    *("Run.allocation", "Run.study", "Run.overlay_evaluation"),
    *("RunDetail.allocation", "RunDetail.study", "RunDetail.overlay_evaluation"),
    # A firing has no name; `merged_into` is another one.
    "Firing.merged_into",
    # Nor has a stop: `stop_text` says whose it is.
    "Automation.stop",
    # Their `name`, `id` or `flow` is the name of the same object.
    *("Outcome.plan", "OutcomeDetail.plan", "Round.placement"),
    *("Shortage.object", "RelaxedNumber.object", "FlowLoad.object"),
    # The person that `username` and `display_name` name.
    *("Session.user_id", "Problem.plan"),
    # Entries outlive their system, and hold its id alone.
    "AuditEntry.system",
}
NO_REFERENCE = {"product_name", "display_name", "first_name", "last_name", "scale_name"}


def answers() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, component in COMPONENTS.items():
        if not name.endswith("Request"):
            yield name, component.get("properties", {})


def test_every_id_has_its_name_beside_it() -> None:
    alone = set()
    for component, fields in answers():
        for field, schema in fields.items():
            what = field.removesuffix("_id")
            beside = {what, f"{what}_name", f"{what}_number"} - {field}
            if schema.get("format") == "uuid" and field != "id" and not beside & set(fields):
                alone.add(f"{component}.{field}")
    assert alone == NAMED_OTHERWISE


def test_every_name_has_its_id_beside_it() -> None:
    alone = []
    for component, fields in answers():
        for field in set(fields) - NO_REFERENCE:
            what = field.removesuffix("_name")
            if field.endswith("_name") and not {what, f"{what}_id"} & set(fields):
                alone.append(f"{component}.{field}")
        alone += [
            f"{component}.{who}" for who in PEOPLE if who in fields and f"{who}_id" not in fields
        ]
    assert alone == []
