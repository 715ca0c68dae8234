"""Compile what is not compiled yet, on two cores: a minute the first time, then seconds."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from weir.warm_up import optimizers, overlays

if __name__ == "__main__":
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for done in [pool.submit(part.warm_up) for part in (optimizers, overlays)]:
            done.result()
