"""Accept suggestions, reject them, and take either back.

An acceptance is an ordinary edit of the model: one transaction, one new version, an audit entry for
each publisher. What it changed stays with the suggestion, so that it can be taken back later
without touching what others have edited since.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from django.utils import timezone

from apps.accounts.models import User
from apps.audit.services import record
from apps.catalog.models import CorrelationKey, Publisher
from apps.common.errors import ApplicationError, Conflict
from apps.common.events import publish
from apps.correlation.domain.sentences import (
    accepted_sentence,
    nothing_to_apply,
    undone_sentence,
)
from apps.correlation.models import Suggestion
from apps.correlation.selectors.suggestions import keys_moved, members_in_catalogue
from apps.systems.models import System
from apps.systems.services import Given, entities_upsert, entity_delete, one_edit
from apps.systems.services.save import Children
from weir.lifecycle.suggestions import SUGGESTIONS
from weir.lifecycle.suggestions import SuggestionCommand as Command
from weir.lifecycle.suggestions import SuggestionState as State

AUDITED_AS = "correlation_suggestion"
DECIDED = (
    *("state", "decided_at", "decided_by", "note", "key_name", "applied", "effect", "updated_at"),
)


class _Keys:
    """Read the rows of an edit that gives publishers their keys; `made` is created first."""

    def __init__(
        self, key_of: Mapping[str, CorrelationKey | None], made: CorrelationKey | None = None
    ) -> None:
        self._key_of = key_of
        self._made = [] if made is None else [made]

    def read(self, given: Given, stored: Any) -> tuple[dict[str, Any], Children]:
        """Return the key that this publisher gets."""
        return {"correlation_key": self._key_of[given.name]}, {}

    def missing(self) -> Sequence[CorrelationKey]:
        """Return the key to create first, where there is one."""
        return self._made


def suggestion_accept(
    *,
    suggestion: Suggestion,
    actor: User | None,
    name: str,
    replace: bool = False,
    note: str = "",
    model_version: int | None = None,
) -> Suggestion:
    """Give the key `name` to the members in the catalogue that have none, and with `replace` to
    those that have another; the key is made where there is none of this name. `model_version`: that
    of the keys that the person saw.

    Raises Conflict: `decided_already`, `changed_meanwhile`, `nothing_to_apply`.
    """
    with _decision(suggestion, actor, Command.ACCEPT, note, model_version) as row:
        analysis = row.analysis
        system = analysis.system
        key = CorrelationKey.objects.filter(system=system, name=name).first()
        made = None if key else CorrelationKey(system=system, name=name)
        key = key or made
        assert key is not None
        members = list(members_in_catalogue(row).select_related("correlation_key"))
        same = [each for each in members if key.pk and each.correlation_key_id == key.pk]
        free = [each for each in members if each.correlation_key_id is None]
        neither = {each.pk for each in members} - {each.pk for each in (*same, *free)}
        others = [each for each in members if each.pk in neither]
        chosen = [*free, *others] if replace else free
        if not chosen:
            sentence = nothing_to_apply(
                topic=analysis.topic.name if analysis.topic else "",
                size=row.size,
                known=len(members),
                other_keys=len(others),
                key=name,
            )
            raise Conflict("nothing_to_apply", sentence)
        row.applied = {
            "key": str(key.public_id),
            "made": made is not None,
            "publishers": {
                str(each.public_id): str(each.correlation_key.public_id)
                if each.correlation_key
                else ""
                for each in chosen
            },
        }
        _give(system, actor, {each.name: key for each in chosen}, made, f"Accepted {row}. {note}")
        row.key_name = name
        row.effect = accepted_sentence(
            key=name,
            made=made is not None,
            given=len(chosen),
            replaced=len(others) if replace else 0,
            kept=0 if replace else len(others),
            had=len(same),
            strangers=row.size - len(members),
        )
    return row


def suggestion_reject(
    *,
    suggestion: Suggestion,
    actor: User | None,
    note: str = "",
    model_version: int | None = None,
) -> Suggestion:
    """Reject the suggestion; nothing of the model changes. Raises Conflict: `decided_already`,
    `changed_meanwhile`."""
    with _decision(suggestion, actor, Command.REJECT, note, model_version) as row:
        row.effect = ""
    return row


def suggestion_undo(
    *,
    suggestion: Suggestion,
    actor: User | None,
    note: str = "",
    model_version: int | None = None,
) -> Suggestion:
    """Open the suggestion again. Publishers that carry the key of its acceptance still get the one
    before; all others are left alone. The key goes where it was made for them and nobody has it.

    Raises Conflict: `not_decided`, `changed_meanwhile`.
    """
    with _decision(suggestion, actor, Command.UNDO, note, model_version) as row:
        row.effect = _take_back(row, actor, note) if row.state == State.ACCEPTED else ""
        row.key_name, row.applied = "", {}
    return row


def _take_back(row: Suggestion, actor: User | None, note: str) -> str:
    """Give publishers the keys that they had before. Returns what changed, in a sentence."""
    system, before = row.analysis.system, row.applied["publishers"]
    key = CorrelationKey.objects.filter(system=system, public_id=row.applied["key"]).first()
    left = list(Publisher.objects.filter(system=system, public_id__in=list(before)))
    carrying = [each for each in left if key and each.correlation_key_id == key.pk]
    wanted = {before[str(each.public_id)] for each in carrying} - {""}
    former = {
        str(each.public_id): each
        for each in CorrelationKey.objects.filter(system=system, public_id__in=wanted)
    }
    reason = f"Took the acceptance of {row} back. {note}"
    if carrying:
        key_of = {each.name: former.get(before[str(each.public_id)]) for each in carrying}
        _give(system, actor, key_of, None, reason)
    _inherit(row)
    removed = key is not None and row.applied["made"] and not key.publishers.exists()
    if key is not None and removed:
        entity_delete(
            instance=key, actor=actor, expected_version=key.version, reason=reason.strip()
        )
    return undone_sentence(
        key=row.key_name if key is None else key.name,
        restored=len(carrying),
        without_former=sum(
            bool(before[str(each.public_id)]) and before[str(each.public_id)] not in former
            for each in carrying
        ),
        elsewhere=len(left) - len(carrying),
        deleted=len(before) - len(left),
        removed=removed,
    )


def _inherit(row: Suggestion) -> None:
    """Let later acceptances give back what this one would have given back: the key before to those
    that they took this one's from, and a key that was made here and that they gave, too."""
    key, before = row.applied["key"], row.applied["publishers"]
    later = Suggestion.objects.filter(
        analysis__system=row.analysis.system_id,
        state=State.ACCEPTED.value,
        decided_at__gte=row.decided_at,
    ).exclude(pk=row.pk)
    changed = []
    made = row.applied["made"]
    for each in later.only("applied", "decided_at").order_by("decided_at", "pk"):
        theirs = each.applied["publishers"]
        taken = {
            publisher: before[publisher]
            for publisher in theirs.keys() & before.keys()
            if theirs[publisher] == key
        }
        heir = made and each.applied["key"] == key
        if taken or heir:
            made = made and not heir
            each.applied = {
                **each.applied,
                "made": heir or each.applied["made"],
                "publishers": {**theirs, **taken},
            }
            changed.append(each)
    Suggestion.objects.bulk_update(changed, ["applied"], batch_size=100)


def _give(
    system: System,
    actor: User | None,
    key_of: Mapping[str, CorrelationKey | None],
    made: CorrelationKey | None,
    reason: str,
) -> None:
    entities_upsert(
        model=Publisher,
        system=system,
        actor=actor,
        rows=[Given(name=name, members={}) for name in key_of],
        reader=lambda _: _Keys(key_of, made),
        reason=reason.strip(),
    )


def _refuse(row: Suggestion) -> NoReturn:
    """Raise Conflict that says why the state of the suggestion does not allow the command."""
    if row.state == State.OPEN:
        raise Conflict("not_decided", f"Nobody has decided {row}; there is nothing to undo.")
    who = f" by {row.decided_by.display_name}" if row.decided_by else ""
    what = f"accepted as {row.key_name}" if row.state == State.ACCEPTED else "rejected"
    raise Conflict("decided_already", f"{row} was {what}{who} already. Undo that to decide anew.")


@contextmanager
def _decision(
    suggestion: Suggestion,
    actor: User | None,
    command: Command,
    note: str,
    model_version: int | None,
) -> Iterator[Suggestion]:
    """Lock the suggestion within one edit of its system, keep what the caller makes of it, and
    record it. Raises Conflict, also where keys of its members changed since `model_version`."""
    with one_edit():
        analysis = suggestion.analysis
        # As every edit of the model: the system's row first, so that one decision comes after
        # another.
        System.objects.select_for_update(no_key=True).filter(pk=analysis.system_id).first()
        row = (
            Suggestion.objects.select_for_update(of=("self",))
            .select_related("analysis__system", "analysis__topic", "decided_by")
            .defer("members", "example", "analysis__outcome")
            .filter(pk=suggestion.pk)
            .first()
        )
        if row is None:
            raise ApplicationError(
                "not_found", f"{suggestion} was deleted meanwhile, with its system.", status=404
            )
        before = {"state": row.state, "key": row.key_name}
        if not SUGGESTIONS.allows(State(row.state), command):
            _refuse(row)
        now = row.analysis.system.model_version
        if model_version is not None and model_version < now and keys_moved(row, model_version):
            raise Conflict(
                "changed_meanwhile",
                f"Publishers of {row} or their keys were changed meanwhile; look again at what "
                f"they carry now, and then {command.value}.",
            )
        yield row
        row.state = SUGGESTIONS.advance(State(row.state), command).value
        decided = row.state != State.OPEN
        row.decided_at = timezone.now() if decided else None
        row.decided_by = actor if decided else None
        row.note = note if decided else ""
        row.save(update_fields=DECIDED)
        system = System.objects.get(pk=analysis.system_id)
        record(
            actor=actor,
            action=command.value,
            object_kind=AUDITED_AS,
            object_id=row.public_id,
            object_name=str(row),
            system_id=system.public_id,
            model_version=system.model_version,
            before=before,
            after={"state": row.state, "key": row.key_name, "effect": row.effect},
            reason=note,
        )
        publish(
            "suggestion",
            id=row.public_id,
            analysis=row.analysis.public_id,
            system=system.public_id,
            state=row.state,
        )
