"""Compile what is not compiled yet: of the parts named, or of all, on two cores.

`python -m weir.warm_up [optimizers] [overlays]` takes minutes the first time, then seconds.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from weir.warm_up import optimizers, overlays

PARTS = {"optimizers": optimizers.warm_up, "overlays": overlays.warm_up}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m weir.warm_up", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    names = parser.parse_args().parts or list(PARTS)
    for name in names:
        if name not in PARTS:
            parser.error(f"no part {name!r}; there are {', '.join(PARTS)}")
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for done in [pool.submit(PARTS[name]) for name in names]:
            done.result()
