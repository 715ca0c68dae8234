"""Export a system as files, show what files would change, and carry that out as one edit."""

import json
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from weir_api.api.interests import interests_export_retrieve
from weir_api.api.systems import systems_model, systems_model_apply, systems_retrieve
from weir_api.models.system import System
from weir_api.models.system_model import SystemModel
from weir_api.models.system_model_change import SystemModelChange
from weir_api.models.system_model_form_request import SystemModelFormRequest
from weir_cli.calls import Refused, Weir, note
from weir_cli.ending import DONE, NO, CommandError
from weir_cli.folder import (
    FILES,
    INTERESTS_FILE,
    SystemFiles,
    parse_interests,
    read_folder,
    write_folder,
)
from weir_cli.listing import find_system, system_or_none, uuid_of
from weir_cli.output import as_json, counted, exact, marked, plain

MOST_READINGS = 5
SIGNS = {"create": "+", "update": "~", "delete": "-"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a folder is to make of which system."""

    files: SystemFiles
    system: System | None
    """That which has the id; None: it is to be created."""
    keep_rest: bool
    within: str | None
    reason: str


def export_command(weir: Weir, name: str | None, folder: Path, interests: bool) -> int:
    """Write a system's files."""
    system = find_system(weir, name)
    files = read_system(weir, system.id, interests)
    write_folder(folder, files)
    objects = sum(map(len, files.kinds.values()))
    wanted = sum(map(len, (files.interests or {}).values()))
    print(
        f"{plain(system.name)}: {counted(objects, 'object')} and {counted(wanted, 'interest')} "
        f"in {folder}"
    )
    return DONE


def read_system(weir: Weir, system: UUID, interests: bool = True) -> SystemFiles:
    """Read a whole system as it is at one moment.

    Raises CommandError where it is edited again and again meanwhile.
    """
    for _ in range(MOST_READINGS):
        document = weir.call(systems_model.sync_detailed, SystemModel, system).to_dict()
        rows = None
        if interests:
            table = weir.answer(interests_export_retrieve.sync_detailed, system=system).content
            rows = parse_interests(table.decode(), "interests")
            now = weir.call(systems_retrieve.sync_detailed, System, system)
            if now.model_version != document["model_version"]:
                continue
        return SystemFiles(
            id=system,
            properties=document["properties"],
            settings=document["settings"],
            kinds={kind: document["kinds"][kind] for kind in FILES if kind in document["kinds"]},
            interests=rows,
        )
    raise CommandError("The system is being edited; export it again in a moment.", NO)


def wanted_of(
    weir: Weir, folder: Path, other: str | None, *, keep_rest: bool, within: str | None, reason: str
) -> Wanted:
    """Read what a folder is to make of the system that it names, or of another one.

    Another one is found by its name, external id or id, and keeps name and external id; where none
    is called so, it is to be created under that name, with an id that follows from the folder's and
    the name: what is reviewed and what is carried out have to be the same.
    """
    files = read_folder(folder)
    system = system_or_none(weir, str(files.id) if other is None else other)
    if other is not None:
        if system is None and uuid_of(other) is not None:
            raise CommandError(f"There is no system {other}; give a new one a name.")
        properties = {**files.properties, "external_id": None, "name": other}
        if system is not None:
            properties |= {"name": system.name, "external_id": system.external_id}
        key = system.id if system else uuid5(files.id, other)
        files = replace(files, id=key, properties=properties)
    return Wanted(files=files, system=system, keep_rest=keep_rest, within=within, reason=reason)


def change_of(
    weir: Weir, wanted: Wanted, *, dry_run: bool, change_hash: str = ""
) -> SystemModelChange:
    """Carry out what a folder says, or find out what that would change."""
    files = wanted.files
    document: dict[str, Any] = {"kinds": _with_interests(files), "reason": wanted.reason}
    if not wanted.keep_rest:
        document["delete"] = "rest"
    if wanted.within:
        document["within"] = wanted.within
    if change_hash:
        document["change_hash"] = change_hash
    body = SystemModelFormRequest.from_dict(document)
    # As they are in the file: what is wrong with them, Weir says by field.
    body["properties"], body["settings"] = files.properties, files.settings
    return weir.call(
        systems_model_apply.sync_detailed, SystemModelChange, files.id, body=body, dry_run=dry_run
    )


def _with_interests(files: SystemFiles) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each kind, those of subscribers with what they want."""
    if files.interests is None:
        return files.kinds
    subscribers = [
        {
            **row,
            "interests": [
                {"topic": topic} for topic in files.interests.get(str(row.get("name")), [])
            ],
        }
        for row in files.kinds["subscriber"]
    ]
    unknown = files.interests.keys() - {str(row.get("name")) for row in subscribers}
    if unknown:
        name = min(unknown)
        raise CommandError(f'interests.csv: no subscriber "{name}" in {FILES["subscriber"]}.')
    return {**files.kinds, "subscriber": subscribers}


def diff_command(weir: Weir, wanted: Wanted, json_output: bool) -> int:
    """Show what a folder would change; the exit status says whether it would."""
    change = _in_terms_of_files(weir, wanted, dry_run=True)
    print(as_json(change) if json_output else "\n".join(lines_of(weir, change, wanted)))
    return NO if change.rows else DONE


def import_command(
    weir: Weir, wanted: Wanted, *, change_hash: str, yes: bool, json_output: bool
) -> int:
    """Show what a folder changes, and carry that out once somebody has agreed to it."""
    if json_output and not change_hash and not yes:
        raise CommandError(
            "With --json, name the change (--change-hash HASH) or agree to it (--yes)."
        )
    change = _in_terms_of_files(weir, wanted, dry_run=True)
    if not json_output:
        print("\n".join(lines_of(weir, change, wanted)), flush=True)
    if change.rows:
        if change_hash and change_hash != change.change_hash:
            note(
                f"nothing was changed: this is not the change {change_hash[:12]}… that was "
                "reviewed; review it again, or name its hash."
            )
            return NO
        if not change_hash and not yes and not _agreed():
            return NO
        change = _in_terms_of_files(weir, wanted, dry_run=False, change_hash=change.change_hash)
    if json_output:
        print(as_json(change))
    elif change.rows:
        name = str(wanted.files.properties.get("name") or wanted.files.id)
        print(
            f"Done: version {change.model_version} of the model. Brokers obey it once its plan was "
            f"approved and executed: weir plan --system {shlex.quote(plain(name))}"
        )
    return DONE


def _in_terms_of_files(weir: Weir, wanted: Wanted, **how: Any) -> SystemModelChange:
    """Carry a folder out as `change_of` does, and say of errors in which file they are."""
    try:
        return change_of(weir, wanted, **how)
    except Refused as refusal:
        text = _of_interests(str(refusal), wanted.files)
        for kind, name in FILES.items():
            text = text.replace(f"kinds.{kind}[", f"{name}: [")
        text = re.sub(r"^( *)(properties|settings)\.", r"\1system.json: \2.", text, flags=re.M)
        if text == str(refusal):
            raise
        raise CommandError(text, refusal.status) from refusal


def _of_interests(text: str, files: SystemFiles) -> str:
    """Say of errors of interests which line of the table they are about."""
    if files.interests is None:
        return text
    subscribers = files.kinds["subscriber"]

    def line(match: re.Match[str]) -> str:
        name = str(subscribers[int(match[1])].get("name"))
        topic = (files.interests or {})[name][int(match[2])]
        return f"interests.csv: {name},{topic}"

    return re.sub(r"kinds\.subscriber\[(\d+)\]\.interests\[(\d+)\](\.topic)?", line, text)


def _agreed() -> bool:
    if not sys.stdin.isatty():
        raise CommandError(
            "Nothing was changed: name the change that was reviewed (--change-hash HASH), or agree "
            "to whatever it is (--yes)."
        )
    print("Carry this out? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def lines_of(weir: Weir, change: SystemModelChange, wanted: Wanted) -> Iterator[str]:
    """Say what a change does, for people: a line for each object, then its members that differ."""
    files = wanted.files
    name = plain(wanted.system.name if wanted.system else files.properties.get("name"))
    yield f"{name} ({files.id}) at {weir.url}"
    absent = [file for kind, file in FILES.items() if kind not in files.kinds]
    absent += [] if files.interests is not None else [INTERESTS_FILE]
    if absent:
        yield f"without a file, so left as it is: {', '.join(absent)}"
    if not change.rows:
        yield "nothing differs"
        return
    given = _given(files)
    for row in change.rows:
        action = str(row.action)
        yield marked(SIGNS.get(action, "?"), f"{row.kind.replace('_', ' ')} {plain(row.name)}")
        before = row.before.to_dict() if row.before else {}
        after = row.after.to_dict() if row.after else {}
        if action == "create":
            # What the files say: the rest are defaults, and empty members say nothing.
            members = given.get((row.kind, row.name), after)
            after = {
                member: value
                for member, value in after.items()
                if member in members and member != "name" and value not in (None, "", [], {})
            }
        if action != "delete":
            for member, value in after.items():
                yield from _member_lines(member, before.get(member), value, action)
    yield (
        f"{change.created:,} created, {change.changed:,} changed, {change.deleted:,} deleted, "
        f"{change.unchanged:,} unchanged"
    )
    yield f"change {change.change_hash}"


def _given(files: SystemFiles) -> dict[tuple[str, str], dict[str, Any]]:
    """Return what the files say of each object, by kind and name."""
    rows = {
        (kind, str(row.get("name"))): row
        for kind, rows in _with_interests(files).items()
        for row in rows
    }
    name = str(files.properties.get("name"))
    return {**rows, ("system", name): files.properties}


def _member_lines(member: str, before: Any, after: Any, action: str) -> Iterator[str]:
    was, now = before or [], after or []
    if isinstance(was, list) and isinstance(now, list) and was + now:
        former = {json.dumps(each, sort_keys=True): each for each in was}
        present = {json.dumps(each, sort_keys=True): each for each in now}
        gone = [each for key, each in former.items() if key not in present]
        new = [each for key, each in present.items() if key not in former]
        if gone or new:
            yield f"    {member}:"
            yield from ("      " + marked("-", _short(each)) for each in gone)
            yield from ("      " + marked("+", _short(each)) for each in new)
            return
    if action == "create":
        yield f"    {member}: {_short(after)}"
    else:
        yield f"    {member}: {_short(before)} → {_short(after)}"


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{plain(name)} {_short(each)}" for name, each in value.items()) or "{}"
    if isinstance(value, list):
        return ", ".join(map(_short, value)) or "[]"
    if value is None:
        return "none"
    return exact(value) if value != "" else '""'
