"""Work with Weir from a terminal or a pipeline: systems as files, plans and their outcomes."""

import argparse
import io
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from weir_cli import login
from weir_cli.ending import DONE, CommandError

if TYPE_CHECKING:
    import httpx

STATUSES = """exit status:
  0  done; of diff: nothing differs
  1  the answer is no: diff finds a difference, a plan was rejected, a computation failed, records
     were set aside
  2  what was given does not fit or is not allowed; nothing was changed
  3  no answer: no connection, a server in trouble, or the time is over
  70 a fault of weir itself, 130 interrupted, 141 nobody reads what it writes

environment: WEIR_URL and WEIR_TOKEN (or WEIR_TOKEN_FILE) instead of a login, WEIR_SYSTEM as
--system, SSL_CERT_FILE for certificates of your own"""
INTERRUPTED = 130
BROKEN_PIPE = 141
FAULT = 70


def main(
    arguments: Sequence[str] | None = None,
    *,
    environment: Mapping[str, str] = os.environ,
    transport: "httpx.BaseTransport | None" = None,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Carry out one command and return its exit status.

    `transport` is how requests are sent, `sleep` how the next look at what goes on is waited for.
    """
    _write_whatever_there_is()
    options = _parser(environment).parse_args(arguments)
    try:
        status = _run(options, environment, transport, sleep)
        sys.stdout.flush()
        return status
    except CommandError as error:
        print(f"weir: {error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever reads has enough, as `head` does; the interpreter's own flush must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except Exception as error:
        # Its own status: 1 would say that something differs.
        traceback.print_exc()
        print(f"weir: this is a fault of weir itself: {error!r}", file=sys.stderr)
        return FAULT


def _write_whatever_there_is() -> None:
    """Let no character that a terminal lacks end a command, and no closed stream."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r+", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _parser(environment: Mapping[str, str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="weir",
        description=__doc__,
        epilog=STATUSES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(
        name: str, text: str, *, json: bool = True, system: bool = False
    ) -> argparse.ArgumentParser:
        one = commands.add_parser(name, help=text, description=f"{text[:1].upper()}{text[1:]}.")
        if json:
            one.add_argument("--json", action="store_true", help="print what the API answers")
        if system:
            one.add_argument(
                "--system",
                metavar="NAME",
                default=environment.get("WEIR_SYSTEM") or None,
                help="name, external id or id; left out where there is one system only",
            )
        return one

    one = command("login", "sign in with a token, read from standard input", json=False)
    one.add_argument("url", metavar="ADDRESS", help="such as https://weir.example.org")
    one.add_argument("--token-file", metavar="FILE", help="read the token from this file")
    command("logout", "delete the login that is kept", json=False)
    command("whoami", "show the account of the token and its roles")

    one = command("list", "list systems, objects, plans, runs and answers", system=True)
    one.add_argument("kind", metavar="KIND", choices=KINDS, help=", ".join(KINDS))
    one.add_argument("--search", metavar="WORDS")
    one.add_argument("--label", metavar="NAME=VALUE", action="append", help="may be repeated")
    one.add_argument("--external-id", metavar="ID")
    one.add_argument(
        "--state", action="append", help="of plans, executions and runs; may be repeated"
    )
    one.add_argument(
        "--most", type=_count, default=100, metavar="N", help="rows at most (100); 0: all"
    )

    one = command("export", "write a whole system as a folder of files", json=False)
    one.add_argument("name", metavar="SYSTEM", help="name, external id or id")
    one.add_argument("folder", metavar="DIR", type=Path)
    one.add_argument(
        "--without-interests", action="store_true", help="leave out what subscribers want"
    )

    for name, text in (
        ("diff", "show what a folder of files would change; exits with 1 where it would"),
        ("import", "make a system what a folder of files says, as one reviewed change"),
    ):
        one = command(name, text)
        one.add_argument("folder", metavar="DIR", type=Path)
        one.add_argument(
            "--as",
            dest="other",
            metavar="SYSTEM",
            help="another system than the one exported; created where there is none of this name",
        )
        one.add_argument(
            "--keep-rest", action="store_true", help="delete nothing that the files lack"
        )
        one.add_argument(
            "--within",
            metavar="LABEL",
            help="all rows have this label (managed-by=git); only such objects are deleted",
        )
        one.add_argument(
            "--reason", default="", help="for the history, such as a commit or a ticket"
        )
        if name == "import":
            one.add_argument(
                "--change-hash",
                metavar="HASH",
                default="",
                help="carry out exactly the change of this hash, or nothing",
            )
            one.add_argument(
                "--yes", action="store_true", help="carry out whatever differs, without a question"
            )

    one = command(
        "send",
        "send files of records, each row once; exits with 1 where rows were set aside",
        system=True,
    )
    one.add_argument("table", metavar="TABLE", choices=TABLES, help=", ".join(TABLES))
    one.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        type=Path,
        help="Parquet, JSON lines or CSV; - for standard input, with --format",
    )
    one.add_argument(
        "--format", choices=("jsonl", "csv", "parquet"), help="where the name does not say it"
    )
    one.add_argument(
        "--name",
        default="",
        help="of the batch, of one file; left out: the digest of what is sent",
    )

    one = command(
        "optimize", "compute rates and admitted consumers, and wait for the answer", system=True
    )
    one.add_argument("--method", help="a name from /optimizers")
    one.add_argument("--time-limit", type=_seconds, metavar="SECONDS", help="of the computation")
    one.add_argument("--timeout", type=_seconds, metavar="SECONDS", help="wait no longer than this")

    one = command("plan", "propose a plan: of the model as it is, or of an answer", system=True)
    one.add_argument(
        "--from",
        dest="source",
        metavar="ANSWER",
        help="such as A-3 (allocation), L-3 (placement), M-3 (mapping)",
    )
    one.add_argument("--title", default="")
    one.add_argument("--ticket", default="", help="the change record elsewhere")
    one.add_argument("--submit", action="store_true", help="send it for review at once")

    for name, text in PLAN_COMMANDS.items():
        one = command(name, text, system=True)
        one.add_argument("plan", metavar="PLAN", help="such as P-12, or its id")
        if name == "approve":
            one.add_argument(
                "--hash", dest="content_hash", default="", help="the content hash of what was read"
            )
            one.add_argument("--comment", default="")
        elif name != "show":
            one.add_argument(
                "--reason",
                default="",
                required=name == "reject",
                help="for those who read it later",
            )
        if name == "execute":
            one.add_argument("--watch", action="store_true", help="wait until it is carried out")
            one.add_argument(
                "--timeout", type=_seconds, metavar="SECONDS", help="wait no longer than this"
            )

    one = command(
        "watch",
        "follow a plan or a run until it ends; exits with 1 where it ends badly",
        system=True,
    )
    one.add_argument("name", metavar="NAME", help="such as P-12 or R-40")
    one.add_argument(
        "--until",
        choices=("approved", "executed"),
        default="executed",
        help="what to wait for, of a plan (executed)",
    )
    one.add_argument("--timeout", type=_seconds, metavar="SECONDS", help="wait no longer than this")

    one = command("events", "follow what happens, as it happens", system=True)
    one.add_argument(
        "--type",
        action="append",
        default=[],
        metavar="TYPE",
        help="such as weir.plan.*; may be repeated",
    )
    one.add_argument(
        "--after", type=int, metavar="NUMBER", help="begin after this event; 0: with the first"
    )
    return parser


PLAN_COMMANDS = {
    "show": "show a plan as those who approve it read it",
    "submit": "send a draft for review",
    "withdraw": "take a plan back from review",
    "approve": "approve a plan's content",
    "reject": "reject a plan",
    "discard": "drop a plan that was not begun",
    "execute": "carry an approved plan out",
    "roll-back": "propose the plan that takes an executed one back",
}
TABLES = ("messages", "deliveries", "requests", "samples", "delays")
"""Of records."""
KINDS = (
    *("systems", "brokers", "links", "overlays", "correlation-keys", "groups", "streams", "topics"),
    *("publishers", "utility-functions", "consumer-classes", "slos", "subscribers"),
    *("plans", "executions", "runs", "allocations", "placements", "mappings", "agents"),
)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError("seconds above 0 are expected")
    return value


def _count(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise argparse.ArgumentTypeError("a whole number is expected; 0 means all")
    return int(text)


def _run(
    options: argparse.Namespace,
    environment: Mapping[str, str],
    transport: "httpx.BaseTransport | None",
    sleep: Callable[[float], None],
) -> int:
    if options.command == "logout":
        print("Signed out." if login.forget(environment) else "Nobody was signed in.")
        return DONE
    try:
        from weir_cli import commands
        from weir_cli.calls import Weir
    except ModuleNotFoundError as error:
        raise CommandError(
            f"{error.name} is missing: run `make client` in a checkout of Weir, then "
            "pip install '/path/to/weir[client]'."
        ) from error
    if options.command != "login":
        weir = Weir(login.current(environment), transport=transport, sleep=sleep)
        return commands.run(weir, options)
    url = login.checked_address(options.url)
    if login.is_readable_on_the_way(url):
        print(f"weir: others may read what is sent to {url}; use https.", file=sys.stderr)
    given = login.Login(url, login.read_token(options.token_file))
    session = commands.session_of(Weir(given, transport=transport))
    path = login.keep(given, environment)
    print(f"Signed in to {url} as {session.display_name or session.username}; kept in {path}.")
    return DONE


if __name__ == "__main__":
    sys.exit(main())
