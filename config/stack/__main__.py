"""Parse the command line of the stack: `python -m config.stack up|down|status|logs|env|restart`."""

import argparse
import dataclasses
import json
import shlex
import sys
import time
from pathlib import Path

from config.stack.console import Console
from config.stack.errors import StackError
from config.stack.follow import follow, show
from config.stack.kernels import compile_behind
from config.stack.parts import PARTS
from config.stack.signals import Interrupted, interruptible
from config.stack.site import ROOT
from config.stack.stack import Stack

DEMO_SIGN_IN = "user demo, password weir-demo"


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--state", type=Path, default=ROOT / "var", help="state directory (default: var)"
    )
    parser = argparse.ArgumentParser(prog="python -m config.stack", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", parents=[common], help="start everything and wait for it")
    up.add_argument("--parts", help=f"only these, comma separated: {','.join(PARTS)}")
    up.add_argument(
        "--page-first",
        action="store_true",
        help="wait only until the pages answer, where they were started here before",
    )
    up.add_argument("--attach", action="store_true", help="follow the logs; Ctrl-C stops it all")
    commands.add_parser("down", parents=[common], help="stop everything; data is kept")
    status = commands.add_parser("status", parents=[common], help="show the state of each part")
    status.add_argument("--json", action="store_true")
    logs = commands.add_parser("logs", parents=[common], help="print the end of the logs")
    logs.add_argument("part", nargs="?", help="one part, or a command such as `migrate`")
    logs.add_argument("-f", "--follow", action="store_true")
    logs.add_argument("-n", "--lines", type=int, default=20)
    commands.add_parser(
        "env", parents=[common], help="print KEY=VALUE lines to reach the running stack"
    )
    restart = commands.add_parser("restart", parents=[common], help="stop and start one part")
    restart.add_argument("part", choices=list(PARTS))
    return parser


def _up(stack: Stack, console: Console, *, attach: bool, page_first: bool) -> int:
    began = time.monotonic()
    console.say(f"Weir: starting in {stack.site.state_dir}")
    # A first start is worth waiting for: only then is it known that every part works here.
    page_first = page_first and bool(stack.site.environment)
    try:
        late = stack.up(page_first=page_first)
        _tell(stack, console, late, time.monotonic() - began)
        if "worker" in stack.asked:
            compile_behind(stack.site)
        if not attach:
            return 0
        console.say("Following the logs; Ctrl-C stops everything.\n")
        follow(stack.site, stop=lambda: not stack.supervisor.alive())
        console.say("The supervisor ended.", "bad")
    except Interrupted:
        if not attach:
            raise
        console.say("\nstopping")
    stack.down()
    return 0


def _tell(stack: Stack, console: Console, late: list[str], took: float) -> None:
    if "web" in stack.asked:
        url = stack.environment()["WEIR_WEB_URL"]
        console.say(f"\nWeir runs at {url}  ({took:.1f} s)", "good")
        if late:
            console.say(f"Still starting: {', '.join(late)}")
        console.say(f"Sign in: {DEMO_SIGN_IN}")
        console.say("Stop: make down    State: make status    Logs: make logs")
    else:
        console.say(f"ready in {took:.1f} s")


def _down(stack: Stack, console: Console) -> int:
    began = time.monotonic()
    if not stack.site.state_dir.exists() or not (stack.down() or console.lines):
        console.say(f"nothing runs in {stack.site.state_dir}")
        return 0
    console.say(
        f"stopped in {time.monotonic() - began:.1f} s; data is kept in {stack.site.data_dir}"
    )
    return 0


def _status(stack: Stack, *, as_json: bool) -> int:
    rows = stack.status()
    if as_json:
        print(json.dumps([dataclasses.asdict(row) for row in rows], indent=1))
        return 0
    print(f"{'part':<12} {'state':<12} {'pid':>7} {'port':>6}  {'since':<25}  log")
    for row in rows:
        pid, port, since = row.pid or "-", row.port or "-", row.since or "-"
        print(f"{row.part:<12} {row.state:<12} {pid:>7} {port:>6}  {since:<25}  {row.log}")
        if row.detail:
            print(f"{'':<12} {row.detail}")
    return 0


def main(arguments: list[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    try:
        with interruptible():
            return _run(given, Console())
    except StackError as error:
        print(f"\nerror: {error}", file=sys.stderr)
        return 1
    except Interrupted:
        print("\nstopped: what this command had started has been ended", file=sys.stderr)
        return 130


def _run(given: argparse.Namespace, console: Console) -> int:
    parts = [name.strip() for name in (getattr(given, "parts", None) or "").split(",")]
    stack = Stack(given.state, [name for name in parts if name] or None, console=console)
    match given.command:
        case "up":
            return _up(stack, console, attach=given.attach, page_first=given.page_first)
        case "down":
            return _down(stack, console)
        case "status":
            return _status(stack, as_json=given.json)
        case "logs":
            return show(stack.site, given.part, lines=given.lines, following=given.follow)
        case "env":
            for name, value in stack.environment().items():
                print(f"{name}={shlex.quote(value)}")
        case "restart":
            stack.restart(given.part)
    return 0


if __name__ == "__main__":
    sys.exit(main())
