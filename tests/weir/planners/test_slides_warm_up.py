"""Nobody waits for a kernel of the engine that its warm-up could have compiled before."""

from __future__ import annotations

import importlib
import pkgutil

from numba.core.dispatcher import Dispatcher

from weir.planners import slides as sliding
from weir.warm_up import warm_up_slides


def test_every_kernel_of_the_engine_is_reached() -> None:
    assert warm_up_slides() > 0
    kernels = {
        kernel.py_func.__qualname__: kernel
        for module in pkgutil.iter_modules(sliding.__path__)
        for kernel in vars(importlib.import_module(f"{sliding.__name__}.{module.name}")).values()
        if isinstance(kernel, Dispatcher)
    }
    assert len(kernels) > 30
    # With a kernel numba compiles all that it may call, also on branches that were not taken.
    called = {name for kernel in kernels.values() for name in kernel.py_func.__code__.co_names}
    missed = [name for name, kernel in kernels.items() if not kernel.signatures]
    assert sorted(set(missed) - called) == []
