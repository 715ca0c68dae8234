"""Answer the health checks of orchestrators."""

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse


def livez(request: HttpRequest) -> JsonResponse:
    """Report that the process answers."""
    return JsonResponse({"status": "alive"})


def readyz(request: HttpRequest) -> JsonResponse:
    """Report whether the process can serve: Postgres answers with today's schema, Valkey
    answers."""
    parts = {"postgres": _postgres(), "valkey": _valkey()}
    ready = all(state == "ok" for state in parts.values())
    return JsonResponse(
        {"status": "ready" if ready else "not ready", "parts": parts}, status=200 if ready else 503
    )


def _postgres() -> str:
    try:
        executor = MigrationExecutor(connection)
        missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError as error:
        connection.close()
        return f"away: {str(error).strip().splitlines()[0]}"
    return f"{len(missing)} migrations missing: run manage.py migrate" if missing else "ok"


def _valkey() -> str:
    try:
        client = redis.Redis.from_url(settings.WEIR_BROKER_URL, socket_timeout=1)
        client.ping()
        client.close()
    except redis.RedisError as error:
        return f"away: {error}"
    return "ok"
