"""Why there is no allocation, as plain dicts."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from weir.errors import InvalidProblem
from weir.model import Change, Infeasibility, Relaxation, Shortage
from weir.reading import shown


def infeasibility_to_dict(explained: Infeasibility) -> dict[str, Any]:
    """Lists instead of tuples, otherwise field by field."""
    plain = asdict(explained)
    for shortage in plain["shortages"]:
        shortage["flows"] = [list(pair) for pair in shortage["flows"]]
    return {"shortages": list(plain["shortages"]), "relaxations": list(plain["relaxations"])}


def infeasibility_from_dict(obj: object) -> Infeasibility | None:
    """The explanation that was stored; None where there was none."""
    if obj is None:
        return None
    if not isinstance(obj, dict):
        raise InvalidProblem("infeasibility", f"must be an object, not {shown(obj)}")
    try:
        return Infeasibility(
            shortages=tuple(
                Shortage(**{**one, "flows": tuple((name, load) for name, load in one["flows"])})
                for one in obj["shortages"]
            ),
            relaxations=tuple(
                Relaxation(**{**one, "changes": tuple(Change(**each) for each in one["changes"])})
                for one in obj["relaxations"]
            ),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidProblem("infeasibility", f"not as it was written: {error}") from None
