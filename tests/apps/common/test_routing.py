"""Each app declares its own addresses; whoever lists them all knows none of the apps."""

import ast
from pathlib import Path
from types import ModuleType

from django.apps import apps
from django.urls import resolve

from apps.common.api.routing import new_router, paths_in, routes_of
from config import urls


def imported(module: ModuleType) -> set[str]:
    tree = ast.parse(Path(str(module.__file__)).read_text())
    return {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}


def test_list_of_addresses_imports_no_view_of_an_app() -> None:
    assert {name for name in imported(urls) if name.startswith("apps.")} == {
        "apps.common.api.routing"
    }


def test_app_without_an_api_has_no_routes() -> None:
    assert routes_of(apps.get_app_config("common")) is None
    assert routes_of(apps.get_app_config("toy")) is None


def test_every_part_of_a_module_of_routes_may_be_left_out() -> None:
    overview = routes_of(apps.get_app_config("overview"))
    assert overview is not None
    assert not hasattr(overview, "register")
    assert paths_in(overview, "root_paths") == ()
    assert len(paths_in(overview, "paths")) == 1


def test_addresses_have_no_slash_at_their_end() -> None:
    assert new_router().trailing_slash == ""
    assert resolve("/api/v1/studies").url_name == "study-list"


def test_machines_addresses_are_found_from_the_root() -> None:
    for address in ("/agent/v1/report", "/internal/studies/points", "/api/v1/events"):
        assert resolve(address).func.__module__.startswith("apps.")
