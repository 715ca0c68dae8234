"""Every fixed set of values in the published schema is an enum, and says what its values mean."""

import re
from collections.abc import Iterator
from typing import Any

from drf_spectacular.generators import SchemaGenerator

from config.api_meanings import MACHINES, MEANINGS

SCHEMA: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
COMPONENTS: dict[str, Any] = SCHEMA["components"]["schemas"]
# The framework's own names for "" and null beside an enum.
FRAMEWORK = {"BlankEnum", "NullEnum"}
ENUMS = {name: one for name, one in COMPONENTS.items() if "enum" in one}


def fields() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for name, component in COMPONENTS.items():
        for field, schema in component.get("properties", {}).items():
            yield name, field, schema


def test_every_value_of_every_enum_has_a_meaning() -> None:
    values = {name: set(one["enum"]) for name, one in ENUMS.items() if name not in FRAMEWORK}
    assert {name: set(meant) for name, meant in MEANINGS.items()} == values
    for name in values:
        for value, meaning in MEANINGS[name].items():
            assert f"- `{value}`: {meaning}" in ENUMS[name]["description"]
            assert re.fullmatch(r"[A-Z`].*\.", meaning, re.DOTALL), meaning


def test_states_say_which_are_final() -> None:
    for name, machine in MACHINES.items():
        assert set(ENUMS[name]["enum"]) == {state.value for state in machine.table}
        said = ENUMS[name]["description"].split("Final")[1]
        assert set(re.findall(r"`(\w+)`", said)) == {state.value for state in machine.ended}
    states = {name for name in ENUMS if name.endswith("StateEnum")}
    # Neither of these is a life: an agent speaks again, a check is made anew.
    assert states - set(MACHINES) == {"AgentStateEnum", "CheckStateEnum"}


def test_commands_states_and_statuses_are_enums() -> None:
    open_ended = []
    for name, field, schema in fields():
        if field == "allowed_commands":
            assert "$ref" in schema["items"], f"{name}.{field}: name the commands"
        elif field in ("state", "status") and schema.get("type") != "integer":
            schemas = [
                part for part in (schema, *schema.get("oneOf", ()), *schema.get("allOf", ()))
            ]
            if not any("$ref" in part for part in schemas):
                open_ended.append(f"{name}.{field}")
    assert open_ended == []


def test_no_enum_stands_inside_a_field() -> None:
    inline = [
        f"{name}.{field}"
        for name, field, schema in fields()
        if "enum" in schema or "enum" in schema.get("items", {})
    ]
    assert inline == []


def test_parameters_with_fixed_values_say_what_these_mean() -> None:
    unsaid = []
    for path, operations in SCHEMA["paths"].items():
        for method, operation in operations.items():
            for parameter in operation.get("parameters", ()):
                schema = parameter["schema"]
                text = parameter.get("description", "")
                for value in schema.get("items", schema).get("enum", ()):
                    if f"`{value}`" not in text:
                        unsaid.append(f"{method} {path} {parameter['name']}: {value}")
    assert unsaid == []
