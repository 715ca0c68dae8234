"""A folder of recordings is frozen as it is read."""

import pytest

from apps.correlation.selectors.recordings import recording_of
from benchmarks.recordings import BEGAN_S, write_recording
from spark_tasks.recordings import check_unchanged, recording_at

ROWS = {"publisher": ["a", "b"], "at_s": [BEGAN_S, BEGAN_S + 1]}


@pytest.mark.parametrize(
    "other",
    ["_temporary/y.parquet", ".hidden/y.parquet", "sub/y.parquet", "part-0001", "linked/y.parquet"],
)
def test_what_is_frozen_of_a_folder_is_what_is_read(recordings, tmp_path_factory, other):
    folder = recordings / "day"
    place = folder / other
    if place.parent.name == "linked":
        folder.mkdir()
        place.parent.symlink_to(tmp_path_factory.mktemp("elsewhere"))
    place.parent.mkdir(parents=True, exist_ok=True)
    write_recording(folder / "x.parquet", **ROWS)
    write_recording(place, **ROWS)
    (folder / "README.txt").write_text("gulls")
    frozen = recording_of("day")
    assert frozen is not None
    read = recording_at(frozen.uri, by="publisher")
    check_unchanged(read, {"bytes": frozen.bytes, "modified_s": frozen.modified_s})
    assert read.rows == (4 if other.startswith("sub/") else 2)
