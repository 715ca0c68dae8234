"""What an extra brings is all that its program imports, and it is little."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
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
            raise ModuleNotFoundError(f"{name} is not installed with this extra", name=name)


sys.meta_path.insert(0, Elsewhere())
package = importlib.import_module(sys.argv[2])
for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
    if not module.name.endswith(".__main__"):
        importlib.import_module(module.name)
program = importlib.import_module(f"{package.__name__}.__main__")
sys.exit(program.main(sys.argv[3:]))
"""


def distributions(extra: str) -> set[str]:
    """What `pip install 'weir[extra]'` installs: the extra, and whatever that requires in turn."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    waiting = [*project["dependencies"], *project["optional-dependencies"][extra]]
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


def importable(extra: str) -> set[str]:
    """The top modules of these distributions."""
    ours = distributions(extra)
    return {
        module
        for module, owners in metadata.packages_distributions().items()
        if any(canonicalize_name(owner) in ours for owner in owners)
    }


@pytest.mark.parametrize("extra", ["agent", "client"])
def test_an_extra_installs_nothing_of_the_control_plane(extra: str) -> None:
    installed = distributions(extra)
    assert "httpx" in installed
    assert not installed & OF_THE_CONTROL_PLANE


@pytest.mark.parametrize(
    ("extra", "package", "beside", "arguments", "shown"),
    [
        ("agent", "agent", ["weir", "weir_client"], ["run", "--help"], "--state-dir"),
        ("client", "weir_cli", ["weir_api"], ["import", "--help"], "--change-hash"),
    ],
)
def test_a_program_imports_only_what_is_installed_with_it(
    extra: str, package: str, beside: list[str], arguments: list[str], shown: str
) -> None:
    modules = " ".join({*importable(extra), package, *beside})
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, modules, package, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert shown in done.stdout
