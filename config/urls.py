"""List every address: those that the apps declare (`api/routes.py`), those of this installation,
and the single page of the browser."""

from django.urls import include, path, re_path

from apps.common.api.routing import new_router, paths_of_apps, register_all
from config.health import livez, readyz
from config.metrics import metrics
from config.page import page
from config.schema_view import SchemaView

router = new_router()
register_all(router)

api = [*paths_of_apps("paths"), path("schema", SchemaView.as_view()), *router.urls]

handler400 = "apps.common.api.problems.bad_request"
handler404 = "apps.common.api.problems.not_found"
handler500 = "apps.common.api.problems.server_error"

urlpatterns = [
    *paths_of_apps("root_paths"),
    path("api/v1/", include(api)),
    path("livez", livez),
    path("readyz", readyz),
    path("metrics", metrics),
    re_path(r"^(?!api/|agent/v1/|internal/|assets/|static/).*$", page),
]
