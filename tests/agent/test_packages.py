"""What `pip install 'weir[agent]'` brings is all that an agent imports, and it is little."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
OF_THE_CONTROL_PLANE = {
    *("django", "celery", "pyspark", "pandas", "pyarrow"),
    *("numpy", "scipy", "networkx", "numba", "highspy", "ortools"),
}
IMPORT_ALL = """
import importlib, pkgutil, sys

installed = set(sys.argv[1].split())


class Elsewhere:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in installed and top not in sys.stdlib_module_names:
            raise ModuleNotFoundError(f"{name} is not installed beside a broker", name=name)


sys.meta_path.insert(0, Elsewhere())
import agent

for module in pkgutil.walk_packages(agent.__path__, "agent."):
    if module.name != "agent.__main__":
        importlib.import_module(module.name)
from agent.__main__ import main

print(len(sys.modules))
sys.exit(main(["run", "--help"]))
"""


def distributions() -> set[str]:
    """What an agent's machine installs: the extra, and whatever that requires in turn."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    waiting = [*project["dependencies"], *project["optional-dependencies"]["agent"]]
    extras: dict[str, set[str]] = {}
    while waiting:
        required = Requirement(waiting.pop())
        name = canonicalize_name(required.name)
        if name in extras and required.extras <= extras[name]:
            continue
        extras[name] = extras.get(name, set()) | required.extras
        for line in metadata.requires(name) or []:
            marker = Requirement(line).marker
            if marker is None or any(
                marker.evaluate({"extra": extra}) for extra in ("", *extras[name])
            ):
                waiting.append(line)
    return set(extras)


def test_agent_installs_nothing_of_the_control_plane() -> None:
    installed = distributions()
    assert {"nats-py", "nkeys", "httpx"} <= installed
    assert not installed & OF_THE_CONTROL_PLANE


def test_agent_imports_only_what_is_installed_with_it() -> None:
    ours = distributions()
    modules = {
        module
        for module, owners in metadata.packages_distributions().items()
        if any(canonicalize_name(owner) in ours for owner in owners)
    }
    assert "nats" in modules
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, " ".join({*modules, "agent", "weir", "weir_client"})],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "--state-dir" in done.stdout
