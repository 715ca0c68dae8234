"""Columns that tasks leave for each other."""

import threading

import numpy as np

from spark_tasks.io import read_columns, write_columns


def test_columns_that_are_written_anew_are_always_whole(tmp_path):
    uri, rows = (tmp_path / "parts" / "times-0").as_uri(), 200_000
    write_columns(uri, {"at_s": np.zeros(rows)})
    done = threading.Event()

    def again():
        for number in range(1, 40):
            write_columns(uri, {"at_s": np.full(rows, float(number))})
        done.set()

    writer = threading.Thread(target=again)
    writer.start()
    while not done.is_set():
        at_s = read_columns(uri)["at_s"]
        assert (len(at_s), len(np.unique(at_s))) == (rows, 1)
    writer.join()
    assert [each.name for each in (tmp_path / "parts").iterdir()] == ["times-0"]
