"""The page about the house names every room, and none that is not there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = (ROOT / "docs" / "house.md").read_text(encoding="utf-8").split("\n## Inside ")
GENERATED = {"var", "build", "test-results"}


def rows(part: str) -> set[str]:
    """The names in the first column of the part's table."""
    return set(re.findall(r"^\| `([\w/]+?)/?` \|", part, flags=re.MULTILINE))


def folders(room: Path) -> set[str]:
    """Folders with something in them; what a tool made has a name that begins with . or _."""
    entries = (entry for entry in room.iterdir() if entry.is_dir() and entry.name[0] not in "._")
    return {
        entry.name
        for entry in entries
        if entry.name not in GENERATED
        and entry.suffix != ".egg-info"
        and any(path.name != "__pycache__" for path in entry.iterdir())
    }


def test_every_room_is_described() -> None:
    assert rows(PARTS[0]) == folders(ROOT)


@pytest.mark.parametrize("room", ["weir", "apps"])
def test_every_package_of_a_room_is_described(room: str) -> None:
    part = next(part for part in PARTS if part.startswith(f"`{room}`"))
    assert rows(part) == folders(ROOT / room)


def test_every_folder_of_tests_is_described() -> None:
    part = next(part for part in PARTS if part.startswith("`tests`"))
    named = rows(part) | set(re.findall(r"`tests/(\w+)`", part))
    assert named == folders(ROOT / "tests")


def test_apps_stand_on_the_tiers_of_their_contract() -> None:
    part = next(part for part in PARTS if part.startswith("`apps`"))
    listed = re.findall(r"^\| `(\w+)` \| (\d+) \|", part, flags=re.MULTILINE)
    text = (ROOT / ".importlinter").read_text(encoding="utf-8")
    contract = text.split("[importlinter:contract:storeys]")[1].split("[importlinter")[0]
    storeys = [re.findall(r"\w+", line) for line in contract.split("layers =")[1].split("\n")]
    tiers = enumerate(reversed([storey for storey in storeys if storey]), 1)
    height = {app: tier for tier, storey in tiers for app in storey}
    assert {app: int(tier) for app, tier in listed} == height
    assert [app for app, _ in listed] == sorted(
        (app for app, _ in listed), key=lambda app: -height[app]
    )
