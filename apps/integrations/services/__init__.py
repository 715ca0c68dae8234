"""Edit connections, follow plans, and send what their changes wait for."""

from apps.integrations.services.connections import (
    connection_create,
    connection_delete,
    connection_test,
    connection_update,
)
from apps.integrations.services.follow import changes_follow, work_hand_out
from apps.integrations.services.work import connection_work

__all__ = [
    "changes_follow",
    "connection_create",
    "connection_delete",
    "connection_test",
    "connection_update",
    "connection_work",
    "work_hand_out",
]
