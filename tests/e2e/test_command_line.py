"""A pipeline owns the demo's harbour with `weir` alone: files, plans, and a web process killed."""

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.e2e.api import Api
from tests.e2e.fleet import SYSTEM, TOPIC, Fleet

pytestmark = pytest.mark.e2e
COMMAND = Path(sys.executable).with_name("weir")


class Shell:
    """A shell whose environment holds a token of somebody."""

    def __init__(self, api: Api, address: str, role: str) -> None:
        body = {"name": f"Pipeline {uuid.uuid4().hex[:6]}", "roles": [role]}
        made = api.post("/api/v1/tokens", body)
        assert made.status_code == 201, made.text
        kept = {name: value for name, value in os.environ.items() if not name.startswith("WEIR_")}
        self.environment: Mapping[str, str] = {
            **kept,
            "WEIR_URL": address,
            "WEIR_TOKEN": made.json()["secret"],
            "WEIR_SYSTEM": SYSTEM,
        }

    def begin(self, *arguments: str | Path) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [COMMAND, *arguments],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *arguments: str | Path, status: int = 0) -> str:
        process = self.begin(*arguments)
        out, err = process.communicate(timeout=240)
        assert process.returncode == status, (arguments, out, err)
        return out


@pytest.fixture
def shell(fleet: Fleet, address: str) -> Callable[[Api, str], Shell]:
    return lambda api, role: Shell(api, address, role)


def test_a_system_is_owned_by_files_and_its_plans_by_commands(
    fleet: Fleet, shell: Callable[[Api, str], Shell], tmp_path: Path
) -> None:
    editor = shell(fleet.author, "editor")
    approver, operator = shell(fleet.approver, "approver"), shell(fleet.operator, "operator")
    assert editor("whoami").rstrip().endswith(": editor")

    # What is exported is what is there; a changed file is a reviewed change.
    folder = tmp_path / "harbour"
    editor("export", SYSTEM, folder)
    assert "nothing differs" in editor("diff", folder)
    topics = json.loads((folder / "topics.json").read_text())
    row = next(one for one in topics if one["name"] == TOPIC)
    description = f"Owned by git, {uuid.uuid4().hex[:6]}"
    row["description"] = description
    (folder / "topics.json").write_text(json.dumps(topics))
    change = json.loads(editor("diff", folder, "--json", status=1))
    assert [(one["name"], one["after"]) for one in change["rows"]] == [
        (TOPIC, {"description": description})
    ]
    editor("import", folder, "--change-hash", change["change_hash"], "--reason", "2a41")
    assert "nothing differs" in editor("diff", folder)
    assert description in editor("list", "topics", "--json")

    # An allocation is computed, proposed, approved by its hash, and carried out.
    fleet.shake()
    answer = json.loads(editor("optimize", "--json"))
    name = f"A-{answer['number']}"
    plan = json.loads(editor("plan", "--from", name, "--submit", "--json", "--ticket", "CHG-1"))
    assert (plan["state"], plan["change_ticket"]) == ("pending_review", "CHG-1")
    shown = approver("show", plan["name"])
    assert shown.split()[-1] == plan["content_hash"]
    approver("approve", plan["name"], "--hash", plan["content_hash"])

    # The web process is killed while the command waits, which goes on.
    execution = operator.begin("execute", plan["name"], "--watch", "--timeout", "180")
    fleet.wait_execution(fleet.execution_of(plan), "running", "succeeded")
    fleet.weir.kill("web")
    out, err = execution.communicate(timeout=240)
    assert execution.returncode == 0, (out, err)
    assert f"{plan['name']}: Weir finished it" in out, out
    fleet.weir.wait_ready("web")
    listed = json.loads(operator("list", "plans", "--search", plan["name"], "--json"))
    assert [one["state"] for one in listed if one["id"] == plan["id"]] == ["executed"]
