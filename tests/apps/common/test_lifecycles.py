"""States of rows come from the tables of `weir.lifecycle`, of every app."""

import importlib
import pkgutil

from django.apps import apps
from django.db.models import Field

import weir.lifecycle
from weir.lifecycle.machine import Machine


def machines():
    for module in pkgutil.iter_modules(weir.lifecycle.__path__):
        members = vars(importlib.import_module(f"weir.lifecycle.{module.name}"))
        yield from (value for value in members.values() if isinstance(value, Machine))


def state_columns():
    for model in apps.get_models():
        if model.__module__.startswith("apps."):
            for field in model._meta.get_fields():
                # A journal copies a state and has no first one; it goes nowhere by itself.
                if isinstance(field, Field) and field.name == "state" and field.has_default():
                    yield model, field


def test_every_state_that_is_stored_begins_in_a_table():
    states = {type(state) for machine in machines() for state in machine.table}
    columns = list(state_columns())
    assert {model.__name__ for model, _ in columns} >= {"Run", "Plan", "Execution", "Fit", "Firing"}
    for model, field in columns:
        assert type(field.default) in states, f"{model.__name__}.state has no table"
