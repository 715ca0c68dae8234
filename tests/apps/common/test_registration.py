"""What is written and not registered stops the start, with the line to add."""

import sys
from pathlib import Path
from types import ModuleType

import pytest
from django.apps import AppConfig, apps
from django.core.checks import run_checks
from django.core.management import CommandError, call_command

from apps.common import checks
from apps.common.checks import check_apps_are_installed, check_views_have_addresses
from apps.runs.checks import check_kinds_are_registered
from apps.runs.selectors import computations

FILES = {
    "__init__.py": "",
    "api/__init__.py": "",
    "api/views.py": "",
    "services/__init__.py": "",
    "services/computation.py": "",
}


@pytest.fixture
def placed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AppConfig:
    """An app with views and a record, as somebody writes it who registers nothing."""
    for name, text in FILES.items():
        path = tmp_path / "wharf" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    # Packages that were imported from here must not outlive the test.
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    module = ModuleType("wharf")
    module.__path__ = [str(tmp_path / "wharf")]
    return AppConfig("wharf", module)


def test_this_installation_has_registered_everything() -> None:
    assert [error for error in run_checks() if str(error.id).startswith("weir.")] == []


def test_folder_that_is_not_installed_is_named(tmp_path, monkeypatch) -> None:
    for name in ("common", "wharf"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    monkeypatch.setattr(checks, "APPS", tmp_path)
    (error,) = check_apps_are_installed(None)
    assert "apps/wharf is not installed" in error.msg
    assert error.hint == 'Add "apps.wharf" to INSTALLED_APPS in config/settings/base.py.'


def test_forgotten_app_stops_the_start(tmp_path, monkeypatch) -> None:
    (tmp_path / "wharf").mkdir()
    (tmp_path / "wharf" / "__init__.py").touch()
    monkeypatch.setattr(checks, "APPS", tmp_path)
    with pytest.raises(CommandError, match=r"Add \"apps\.wharf\" to INSTALLED_APPS"):
        call_command("check")


def test_views_without_routes_are_named(placed: AppConfig) -> None:
    (error,) = check_views_have_addresses([placed])
    assert "wharf/api/routes.py is missing" in error.msg
    assert "wharf/api/routes.py" in str(error.hint)


@pytest.mark.parametrize("text", ["", "def register(router):\n    pass\n", "paths = []\n"])
def test_routes_that_declare_nothing_are_named(placed: AppConfig, text: str) -> None:
    Path(placed.path, "api", "routes.py").write_text(text)
    (error,) = check_views_have_addresses([placed])
    assert "wharf/api/routes.py declares nothing" in error.msg


def test_routes_that_declare_an_address_pass(placed: AppConfig) -> None:
    text = "from django.urls import path\npaths = [path('wharf', print)]\n"
    Path(placed.path, "api", "routes.py").write_text(text)
    assert check_views_have_addresses([placed]) == []


def test_table_without_a_record_is_named() -> None:
    (error,) = check_kinds_are_registered([apps.get_app_config("toy")])
    assert "Tally of tests/apps/runs/toy/models.py is computed" in error.msg
    assert 'Add `computations = ("' in str(error.hint)
    assert "tests/apps/runs/toy/apps.py" in str(error.hint)


def test_table_with_its_record_passes(monkeypatch) -> None:
    toy = apps.get_app_config("toy")
    record = ("tests.apps.runs.toy.computation.TALLY",)
    monkeypatch.setattr(toy, "computations", record, raising=False)
    computations.cache_clear()
    try:
        assert check_kinds_are_registered([toy]) == []
    finally:
        computations.cache_clear()


def test_record_that_no_config_names_is_named(placed: AppConfig, monkeypatch) -> None:
    monkeypatch.setattr(placed, "get_models", lambda: [])
    (error,) = check_kinds_are_registered([placed])
    assert "wharf/apps.py names no record" in error.msg
    assert 'computations = ("wharf.services.computation.<RECORD>",)' in str(error.hint)
