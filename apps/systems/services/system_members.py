"""Write what a document says of a system beside its objects: its properties, which may create it,
and its settings. Errors and changes are those of the document, by path."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from uuid import UUID

from apps.accounts.models import User
from apps.common.errors import ApplicationError, Conflict
from apps.systems.models import System
from apps.systems.selectors import SYSTEM, properties_of
from apps.systems.services.edit import difference
from apps.systems.services.pending import Errors, Given
from apps.systems.services.rows import row_for, settings_kind
from apps.systems.services.save import integrity
from apps.systems.services.systems import (
    check_resources_unused,
    properties_change,
    properties_check,
)

NEEDED_TO_CREATE = frozenset({"name", "product"})


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenProperties:
    """Members of the system itself as they were sent, and how they are read."""

    given: Given
    read: Callable[[System | None], dict[str, Any]]
    """For the stored system or, with None, a new one. Raises ApplicationError that names
    members."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenSettings:
    """Members of one row of settings as they were sent, and how they are read and written."""

    given: Given
    current: Callable[[System], Any]
    """Returns the row, unsaved defaults where nobody has set any."""
    read: Callable[[Any], dict[str, Any]]
    """For the row as it is. Raises ApplicationError that names members."""
    update: Callable[..., Any]
    """Writes as `row_update` does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MembersWritten:
    """The system, or a row of its settings, that was created or changed, with what differs."""

    kind: str
    name: str
    action: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None


@dataclass(slots=True, kw_only=True)
class SystemWork:
    """The system of a document, locked or just created, while its objects are written.

    Between `begin` and `finish` it has the resources of before and of afterwards: objects may begin
    to use the new ones, and have to end using the others.
    """

    system: System
    created: bool = False
    before: Mapping[str, Any] | None = None
    resources: list[str] = field(default_factory=list)
    """Those that it has afterwards."""

    @classmethod
    def begin(
        cls,
        system_id: UUID,
        properties: GivenProperties | None,
        settings: Iterable[GivenSettings],
        errors: Errors,
    ) -> Self:
        """Lock the system and give it its properties, or create it.

        Raises ApplicationError `not_found` where it is not there and the properties do not suffice
        to create it, and Conflict `taken_meanwhile` where somebody else just did.
        """
        rows = System.objects.select_for_update(no_key=True)
        stored = rows.filter(public_id=system_id).first()
        if stored is None:
            return cls._create(system_id, properties, errors)
        work = cls(system=stored, before=properties_of(stored), resources=stored.resources)
        if properties is not None:
            try:
                values = properties.read(stored)
                if any(values.get(name, former) != former for name, former in _keys(stored)):
                    # A new name keeps others from referring to the system, and whoever is just
                    # making the first row of these settings does when they end: they go first.
                    for each in settings:
                        row_for(type(each.current(stored)), stored)
                work._change(values)
            except ApplicationError as error:
                errors.add(properties.given.errors(error))
        return work

    @classmethod
    def _create(cls, system_id: UUID, properties: GivenProperties | None, errors: Errors) -> Self:
        check_creates(system_id, properties.given.members if properties else None)
        assert properties is not None
        system = System(public_id=system_id)
        try:
            for name, value in properties.read(None).items():
                setattr(system, name, value)
            _save(system)
        except Conflict:
            raise
        except ApplicationError as error:
            errors.add(properties.given.errors(error))
        return cls(system=system, created=True, resources=system.resources)

    def _change(self, values: Mapping[str, Any]) -> None:
        if not properties_change(self.system, values):
            return
        self.resources = self.system.resources
        self.system.resources = [*self.resources, *self._removed()]
        _save(self.system, checked=True)

    def _removed(self) -> list[str]:
        former = self.before["resources"] if self.before else []
        return [name for name in former if name not in self.resources]

    def finish(self, errors: Errors) -> MembersWritten | None:
        """Take the resources away that are no longer used, and return what differs from before."""
        removed = self._removed()
        if removed:
            try:
                check_resources_unused(self.system, {*removed})
            except Conflict as error:
                errors.add(Given(name="", members={}, path="properties").errors(error))
                return None
            self.system.resources = self.resources
            self.system.save(update_fields=["resources", "updated_at"])
        before, after = difference(
            dict(self.before) if self.before else None, properties_of(self.system)
        )
        if not after:
            return None
        return MembersWritten(
            kind=SYSTEM,
            name=self.system.name,
            action="create" if self.created else "update",
            before=before,
            after=after,
        )


def _keys(system: System) -> list[tuple[str, Any]]:
    """Return the members that are unique over systems."""
    return [("name", system.name), ("external_id", system.external_id)]


def check_creates(system_id: UUID, properties: Any) -> None:
    """Raise ApplicationError `not_found` unless these properties suffice to create the system."""
    if not isinstance(properties, Mapping) or not properties.keys() >= NEEDED_TO_CREATE:
        raise ApplicationError(
            "not_found",
            f"There is no system {system_id}, or it was deleted. Send `properties` with `name` and "
            "`product`, and it is created under this id.",
            status=404,
        )


def _save(system: System, *, checked: bool = False) -> None:
    """Write the system. Raises ApplicationError naming the member where another system has its name
    or external id, also if it got that meanwhile, and Conflict where another got its id."""
    if not checked:
        properties_check(system)
    try:
        with integrity("system", system.name):
            system.save()
    except Conflict:
        if system._state.adding and System.objects.filter(public_id=system.public_id).exists():
            raise Conflict(
                "taken_meanwhile",
                f"Another request has just created the system {system.public_id}. Send the "
                "document again: it then changes that system.",
            ) from None
        properties_check(system)
        raise


def settings_write(
    system: System, settings: GivenSettings, values: Mapping[str, Any], actor: User | None, why: str
) -> MembersWritten | None:
    """Write the members of settings that differ, as they were read; None where none does."""
    row = settings.current(system)
    model = type(row)
    locked = model._default_manager.select_for_update(of=("self",)).select_related("system")
    row = locked.filter(pk=row.pk).first() or row
    if row.pk is None and _differing(row, values):
        row = locked.get(pk=row_for(model, system).pk)
    differing = _differing(row, values)
    if not differing:
        return None
    before = {name: getattr(row, name) for name in differing}
    try:
        changed = settings.update(
            settings=row,
            actor=actor,
            expected_version=row.version,
            values=differing,
            reason=why,
        )
    except ApplicationError as error:
        raise _of_document(settings.given, error) from error
    return MembersWritten(
        kind=settings_kind(model),
        name=str(changed),
        action="update",
        before=before,
        after=differing,
    )


def _differing(row: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if getattr(row, name) != value}


def _of_document(given: Given, error: ApplicationError) -> ApplicationError:
    errors = given.errors(error)
    return ApplicationError(error.code, error.message, status=error.status, errors=errors)
