"""Edit systems and what belongs to them: one transaction, a new model version, an audit entry."""

from apps.systems.services.edit import keep, one_edit
from apps.systems.services.entities import (
    Change,
    entity_change,
    entity_create,
    entity_delete,
    entity_update,
)
from apps.systems.services.many import Drafts, entities_create
from apps.systems.services.pending import Given, rows_refused, text_of
from apps.systems.services.rows import row_for, row_update
from apps.systems.services.settings import retention_set, unmanaged_set
from apps.systems.services.system_members import GivenProperties, GivenSettings, check_creates
from apps.systems.services.systems import system_create, system_delete, system_update
from apps.systems.services.upsert import Upserted, entities_upsert
from apps.systems.services.whole_model import GivenKind, ModelChange, model_apply

__all__ = [
    "Change",
    "Drafts",
    "Given",
    "GivenKind",
    "GivenProperties",
    "GivenSettings",
    "ModelChange",
    "Upserted",
    "check_creates",
    "entities_create",
    "entities_upsert",
    "entity_change",
    "entity_create",
    "entity_delete",
    "entity_update",
    "keep",
    "model_apply",
    "one_edit",
    "retention_set",
    "row_for",
    "row_update",
    "rows_refused",
    "system_create",
    "system_delete",
    "system_update",
    "text_of",
    "unmanaged_set",
]
