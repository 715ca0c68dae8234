"""Makes plans of link shifts in the running system: one JSON object per line in, one out.

Runs as a process of its own in the stack's environment, because plans of chosen shifts have no
address in the API: there they come from evaluations. Everything after the making, from review to
execution, goes over REST.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import django
from django.db import close_old_connections

from weir.model.plan import Action, Plan, Source, Step


def make(asked: dict[str, Any]) -> str:
    """The public id of a draft by `editor`; `steps` holds lists of [i, j, k]."""
    from apps.accounts.models import User  # models exist after the set-up only
    from apps.plans.services import plan_create
    from apps.systems.models import System

    system = System.objects.get(public_id=asked["system"])
    plan = plan_create(
        system=system,
        actor=User.objects.get(username="editor"),
        document=Plan(
            kind="overlay",
            system=str(system.public_id),
            model_version=system.model_version,
            snapshot_hash="",
            source=Source(kind="person", id="", name="chaos"),
            title=asked["title"],
            steps=tuple(
                Step(
                    actions=tuple(
                        Action(kind="shift_link", target=dict(zip("ijk", shift, strict=True)))
                        for shift in step
                    )
                )
                for step in asked["steps"]
            ),
        ),
    )
    return str(plan.public_id)


if __name__ == "__main__":
    django.setup()
    for line in sys.stdin:
        close_old_connections()
        try:
            answer = {"plan": make(json.loads(line))}
        except Exception as error:  # the caller tries again: a server may be away
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)
