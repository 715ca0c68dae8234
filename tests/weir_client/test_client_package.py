"""The client is a package of its own: it needs NATS' client, and imports nothing of Weir."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PURE = (
    "delays",
    "frames",
    "keeping",
    "kept_following",
    "multicast",
    "receiving",
    "sending",
    "subjects",
)
IMPORT = """
import importlib, sys

installed = set(sys.argv[1].split()) | {"weir_client"}


class Elsewhere:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in installed and top not in sys.stdlib_module_names:
            raise ModuleNotFoundError(f"{name} is not installed beside a client", name=name)


sys.path[:0] = sys.argv[3].split()
sys.meta_path.insert(0, Elsewhere())
for module in sys.argv[2].split():
    print(importlib.import_module(f"weir_client.{module}").__file__)
"""


def import_them(modules: str, *, installed: str, paths: list[Path]) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", IMPORT, installed, modules, " ".join(map(str, paths))],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def site() -> Path:
    import nats

    return Path(nats.__file__).parents[1]


def test_what_is_pure_imports_the_standard_library_alone():
    import_them(" ".join(PURE), installed="", paths=[ROOT])


@pytest.mark.parametrize("module", ["publisher", "reliable", "subscriber"])
def test_clients_import_nats_and_nothing_else(module: str):
    import_them(module, installed="nats nkeys", paths=[ROOT, site()])
    with pytest.raises(AssertionError, match="nats is not installed"):
        import_them(module, installed="", paths=[ROOT, site()])


def test_it_builds_by_itself_and_says_its_types(tmp_path: Path):
    source, target = tmp_path / "source", tmp_path / "target"
    shutil.copytree(
        ROOT / "weir_client", source, ignore=shutil.ignore_patterns("__pycache__", "build")
    )
    # What pip would put into a wheel; that itself needs a package that may not be there.
    build = "from setuptools import setup; setup()"
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", build, "-q", "build_py", "--build-lib", target],
        cwd=source,
        check=True,
        timeout=120,
    )
    files = import_them(" ".join(PURE), installed="", paths=[target])
    assert files == [str(target / "weir_client" / f"{module}.py") for module in PURE]
    assert (target / "weir_client" / "py.typed").exists()
    import_them("publisher reliable subscriber", installed="nats nkeys", paths=[target, site()])


def test_it_depends_on_the_client_of_nats_alone():
    project = tomllib.loads((ROOT / "weir_client" / "pyproject.toml").read_text())["project"]
    assert (project["name"], project["dependencies"]) == ("weir-client", ["nats-py"])
    assert project["requires-python"] == ">=3.11"
