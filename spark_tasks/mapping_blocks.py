"""Keep in the executors what the blocks of a mapping are cut from.

A worker process reads it when it first meets it and keeps it: rounds then move only where items and
streams are. A worker that died reads it again; a block is a pure function of what it is given.
"""

from hashlib import blake2b

import numpy as np

from spark_tasks.io import read_columns, write_columns
from spark_tasks.partition_tasks import kept
from weir.clustering.blocks import Improved, Round, Shared, Watch, improved


def write_shared(folder: str, shared: Shared, written: set[str]) -> str:
    """Write it below `folder` (an address) unless its name is among those written; return its
    name, which is a hash of it."""
    tables: dict[str, dict[str, np.ndarray]] = {
        "items": {"rates": shared.rates, "ends": shared.starts[1:], "fixed": shared.fixed},
        "interests": {"users": shared.users},
        "streams": {"pinned_group": shared.pinned_group},
        "sizes": {
            "user_count": np.array([shared.user_count]),
            "groups": np.array([shared.groups]),
            "in_stream": np.array([shared.weights[0]]),
            "in_group": np.array([shared.weights[1]]),
        },
    }
    digest = blake2b(digest_size=12)
    for columns in tables.values():
        for column in columns.values():
            digest.update(np.ascontiguousarray(column).data)
    name = digest.hexdigest()
    if name not in written:
        for table, columns in tables.items():
            write_columns(f"{folder}/mapping-{name}/{table}", columns)
        written.add(name)
    return name


def read_shared(folder: str, name: str) -> Shared:
    """Return what `write_shared` wrote under this name."""
    items, interests, streams, sizes = (
        read_columns(f"{folder}/mapping-{name}/{table}")
        for table in ("items", "interests", "streams", "sizes")
    )
    return Shared(
        rates=items["rates"],
        starts=np.append(0, items["ends"]).astype(np.int64),
        users=interests["users"],
        user_count=int(sizes["user_count"][0]),
        fixed=items["fixed"],
        pinned_group=streams["pinned_group"],
        groups=int(sizes["groups"][0]),
        weights=(float(sizes["in_stream"][0]), float(sizes["in_group"][0])),
    )


def block_task(folder: str, name: str, round_: Round, number: int, watch: Watch) -> Improved:
    """Return what this round makes of one block."""
    return improved(kept(folder, name, 0, lambda: read_shared(folder, name)), round_, number, watch)
