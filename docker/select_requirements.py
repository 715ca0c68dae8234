"""Print a part of a pinned requirements file, for an image that does not need all of it.

`--without NAME ...` leaves packages out, `--only NAME ...` keeps just those, both with their
hashes. `--versions` prints bare `name==version` lines, to be used as constraints.
"""

import argparse
import re
import sys
from pathlib import Path

ENTRY = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^\s;\\]+)")


def blocks(text: str) -> dict[str, str]:
    """Package name -> its lines, from the name to the last hash."""
    found: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        entry = ENTRY.match(line)
        if entry:
            name = entry.group(1).lower().replace("_", "-")
            found[name] = ""
        if name and not line.lstrip().startswith("#"):
            found[name] += line + "\n"
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--without", nargs="+", metavar="NAME")
    kind.add_argument("--only", nargs="+", metavar="NAME")
    kind.add_argument("--versions", action="store_true")
    given = parser.parse_args()
    pinned = blocks(given.file.read_text(encoding="utf-8"))
    unknown = sorted({*(given.without or ()), *(given.only or ())} - set(pinned))
    if unknown:
        print(f"error: not in {given.file}: {', '.join(unknown)}", file=sys.stderr)
        return 1
    for name, lines in pinned.items():
        if given.versions:
            print(lines.split()[0])
        elif (given.only and name in given.only) or (given.without and name not in given.without):
            print(lines, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
