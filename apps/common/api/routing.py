"""Find the addresses that each app declares in its `api/routes.py`.

    register(router)    adds the app's view sets below /api/v1/
    paths               its other addresses below /api/v1/
    root_paths          addresses from the root: what agents, jobs and streams of events ask

Each of the three may be left out.
"""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

from django.apps import AppConfig, apps
from django.urls import URLPattern
from rest_framework.routers import BaseRouter, SimpleRouter


def routes_of(config: AppConfig) -> ModuleType | None:
    """Return the routes of an app; None where it has none."""
    written = Path(config.path, "api", "routes.py").is_file()
    return import_module(f"{config.name}.api.routes") if written else None


def new_router() -> SimpleRouter:
    """Return a router that writes addresses as this API does: no slash at the end."""
    return SimpleRouter(trailing_slash=False, use_regex_path=False)


def register_all(router: BaseRouter) -> None:
    """Register the view sets of every installed app."""
    for module in _modules():
        register = getattr(module, "register", None)
        if register is not None:
            register(router)


def paths_of_apps(name: str) -> list[URLPattern]:
    """Return the `paths`, or the `root_paths`, of every installed app."""
    return [path for module in _modules() for path in paths_in(module, name)]


def paths_in(module: ModuleType, name: str) -> Sequence[URLPattern]:
    """Return one of the lists of a module of routes; empty where it has none."""
    paths: Sequence[URLPattern] = getattr(module, name, ())
    return paths


def addresses_in(module: ModuleType) -> int:
    """Return how many view sets and other addresses a module of routes declares."""
    router = new_router()
    if hasattr(module, "register"):
        module.register(router)
    others = sum(len(paths_in(module, name)) for name in ("paths", "root_paths"))
    return len(router.registry) + others


def _modules() -> list[ModuleType]:
    found = [routes_of(config) for config in apps.get_app_configs()]
    return [module for module in found if module is not None]
