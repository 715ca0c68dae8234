"""Carry out one command that needs Weir, as the command line was read."""

from argparse import Namespace
from typing import Any

from weir_api.api.session import session_retrieve
from weir_api.models.session import Session
from weir_api.types import UNSET
from weir_cli import listing, plans, records, system_files, watching
from weir_cli.calls import Weir
from weir_cli.ending import DONE, CommandError
from weir_cli.output import as_json, plain


def run(weir: Weir, options: Namespace) -> int:
    """Carry out one command and return its exit status."""
    command = options.command
    if command == "whoami":
        return _whoami(weir, options.json)
    if command == "list":
        listing.list_command(
            weir, options.kind, _filters(weir, options), options.most or None, options.json
        )
        return DONE
    if command == "export":
        return system_files.export_command(
            weir, options.name, options.folder, not options.without_interests
        )
    if command in ("diff", "import"):
        return _files(weir, options)
    if command == "send":
        return records.send_command(
            weir,
            options.system,
            options.table,
            options.files,
            name=options.name,
            written_in=options.format,
            json_output=options.json,
        )
    if command == "optimize":
        return watching.optimize_command(
            weir,
            options.system,
            method=options.method,
            time_limit_s=options.time_limit,
            timeout_s=options.timeout,
            json_output=options.json,
        )
    if command == "watch":
        return watching.watch_command(
            weir,
            options.name,
            options.system,
            until=options.until,
            timeout_s=options.timeout,
            json_output=options.json,
        )
    if command == "events":
        return watching.events_command(
            weir, options.system, options.type, options.after, options.json
        )
    return _plan(weir, options)


def session_of(weir: Weir) -> Session:
    """Return whom the token belongs to. Raises CommandError where it belongs to nobody."""
    session = weir.call(session_retrieve.sync_detailed, Session)
    if not session.signed_in:
        raise CommandError("This token is unknown, expired or revoked; make a new one in Weir.")
    return session


def _whoami(weir: Weir, json_output: bool) -> int:
    session = session_of(weir)
    roles = ", ".join(str(role) for role in session.roles)
    name = plain(session.display_name or session.username)
    print(as_json(session) if json_output else f"{name} at {weir.url}: {roles}")
    return DONE


def _filters(weir: Weir, options: Namespace) -> dict[str, Any]:
    system = UNSET
    if options.system is not None and options.kind != "systems":
        system = listing.find_system(weir, options.system).id
    return {
        "system": system,
        "search": options.search or UNSET,
        "label": options.label or UNSET,
        "external_id": options.external_id or UNSET,
        "state": [listing.Value(state) for state in options.state or ()] or UNSET,
    }


def _files(weir: Weir, options: Namespace) -> int:
    wanted = system_files.wanted_of(
        weir,
        options.folder,
        options.other,
        keep_rest=options.keep_rest,
        within=options.within,
        reason=options.reason,
    )
    if options.command == "diff":
        return system_files.diff_command(weir, wanted, options.json)
    return system_files.import_command(
        weir,
        wanted,
        change_hash=options.change_hash,
        yes=options.yes,
        json_output=options.json,
    )


def _plan(weir: Weir, options: Namespace) -> int:
    command, json_output = options.command, options.json
    if command == "plan":
        return plans.plan_command(
            weir,
            options.system,
            options.source,
            title=options.title,
            ticket=options.ticket,
            submit=options.submit,
            json_output=json_output,
        )
    plan = plans.find_plan(weir, options.plan, options.system)
    if command == "show":
        return plans.show_command(plan, json_output)
    if command == "approve":
        return plans.approve_command(
            weir,
            plan,
            content_hash=options.content_hash,
            comment=options.comment,
            json_output=json_output,
        )
    if command == "execute":
        execution = plans.execute(weir, plan, options.reason)
        if options.watch:
            deadline = watching.Deadline(weir, options.timeout)
            return watching.watch_plan(weir, plan.id, deadline, json_output)
        print(
            as_json(execution)
            if json_output
            else f"{execution.name} carries {plan.name} out: weir watch {plan.name}"
        )
        return DONE
    return plans.decide_command(weir, command, plan, reason=options.reason, json_output=json_output)
