"""Every number of the published schema says what it counts, in its name or in words."""

from typing import Any

from drf_spectacular.generators import SchemaGenerator

from config.api_units import IN_NAME, OF_COMPONENT, UNITS, described_otherwise, numbers

SCHEMA: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)


def test_every_number_has_a_unit_in_its_name_or_a_description() -> None:
    without = [
        f"{component}.{name}"
        for component, fields in numbers(SCHEMA)
        for name, schema in fields.items()
        if not described_otherwise(name, schema)
    ]
    assert without == []


def test_no_unit_is_of_a_field_that_is_not_there() -> None:
    fields = {f"{component}.{name}" for component, names in numbers(SCHEMA) for name in names}
    assert set(OF_COMPONENT) - fields == set()
    assert set(UNITS) - {field.split(".")[1] for field in fields} == set()


def test_every_numeric_parameter_is_described() -> None:
    without = [
        f"{method} {path} {parameter['name']}"
        for path, operations in SCHEMA["paths"].items()
        for method, operation in operations.items()
        for parameter in operation.get("parameters", ())
        if parameter["schema"].get("type") in ("number", "integer")
        and not parameter.get("description")
        and not IN_NAME.search(parameter["name"])
    ]
    assert without == []
