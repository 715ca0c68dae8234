"""Compute once the environment that every process of the stack gets.

Variables of the caller win; what is missing is filled in from the state directory. This module
and the parts read the environment for the stack itself; the application reads what comes out of
here in `config/env.py`.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from config.stack.errors import StackError
from config.stack.parts.base import Part
from config.stack.site import TAG_PART, TAG_STACK, Site

PASSED_ON = ("DATABASE_URL", "DJANGO_SETTINGS_MODULE", "PYSPARK_PYTHON")


def resolve_files(given: Mapping[str, str]) -> dict[str, str]:
    """Replace `NAME_FILE` by `NAME` with the file's content, as the application reads secrets."""
    values = dict(given)
    for name, path in given.items():
        target = name.removesuffix("_FILE")
        if target == name or not (target in PASSED_ON or target.startswith("WEIR_")) or not path:
            continue
        try:
            values[target] = Path(path).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise StackError(f"{name}={path} cannot be read: {error.strerror}") from error
        del values[name]
    return values


def compute(site: Site, parts: Mapping[str, Part], given: Mapping[str, str]) -> dict[str, str]:
    """Return everything a process needs to reach the running stack."""
    values = {
        name: value
        for name, value in given.items()
        if (name in PASSED_ON or name.startswith(("WEIR_", "SPARK_CONNECT_AUTHENTICATE_")))
        and name not in (TAG_STACK, TAG_PART)
    }
    for part in parts.values():
        if part.name not in site.external:
            values.update(part.address(site))
    values.setdefault("WEIR_SECRET_KEY", site.secrets["web"])
    values.setdefault("WEIR_DATA_DIR", str(site.data_dir / "weir"))
    values.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
    values.setdefault("PYSPARK_PYTHON", sys.executable)
    values["PYTHONUNBUFFERED"] = "1"
    return dict(sorted(values.items()))
