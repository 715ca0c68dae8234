"""How kernels are compiled: once per machine, without the interpreter's lock.

Importing this module imports numba (some tenths of a second), so optimizers import it when
they begin to compute, not when they are listed. Compiled code is kept on disk beside its source;
`python -m weir.warm_up` fills that cache when the product is installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba

if TYPE_CHECKING:
    from collections.abc import Callable

    F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """The function as machine code; floating-point errors give inf or nan, as in numpy."""
    wrap = cast("Any", numba.njit)
    try:
        return cast("F", wrap(cache=True, nogil=True, error_model="numpy")(function))
    except RuntimeError:  # no folder to keep compiled code in: each process compiles its own
        return cast("F", wrap(nogil=True, error_model="numpy")(function))


def compiled_inside(function: F) -> F:
    """The same for a function that only compiled ones call: nothing is built to call it from here.

    Those wrappers unpack every array of every named tuple, which takes longest to compile.
    """
    wrap = cast("Any", numba.njit)
    only = {"nogil": True, "error_model": "numpy", "no_cpython_wrapper": True}
    return cast("F", wrap(no_cfunc_wrapper=True, **only)(function))
