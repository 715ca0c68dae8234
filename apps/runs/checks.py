"""Refuse kinds of computation that are written and not registered."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from django.apps import AppConfig
from django.core.checks import Error, register

from apps.common.checks import own_apps
from apps.runs.models import Computed
from apps.runs.selectors import Computation, computations


@register
def check_kinds_are_registered(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[Error]:
    """Report tables of computed rows without a record, and records that no AppConfig names."""
    records = computations().values()
    return [error for config in own_apps(app_configs) for error in _errors(config, records)]


def _errors(config: AppConfig, records: Iterable[Computation]) -> list[Error]:
    module = f"{config.name}.services.computation"
    folder = config.name.replace(".", "/")
    line = f'computations = ("{module}.<RECORD>",)'
    hint = f"Add `{line}` to the AppConfig in {folder}/apps.py; docs/computations.md has the steps."
    errors = [
        Error(
            f"{model.__name__} of {folder}/models.py is computed, and no Computation names it: "
            "nothing can start, store or show one",
            hint=hint,
            id="weir.E004",
        )
        for model in config.get_models()
        if issubclass(model, Computed) and model not in {one.model for one in records}
    ]
    written = Path(config.path, "services", "computation.py").is_file()
    if written and not getattr(config, "computations", ()):
        errors.append(
            Error(
                f"{folder}/services/computation.py is written, and {folder}/apps.py names no "
                "record of it",
                hint=hint,
                id="weir.E005",
            )
        )
    return errors
