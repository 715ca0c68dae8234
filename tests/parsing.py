"""Parsing in the test process is never interrupted by the garbage collector.

Loaded as a pytest plugin (`-p tests.parsing` in pyproject.toml). CPython 3.11 keeps the depth of
the syntax tree it builds per interpreter, not per call (gh-106905). Where the collector runs in
the middle of `ast.parse` and finds an object whose finalizer fails, the report of that failure
formats a traceback, which parses the failing line: the outer call then raises "AST constructor
recursion depth mismatch". pytest parses every module it rewrites, so the whole run would end with
it.
"""

import ast
import gc
from functools import wraps
from typing import Any

_parse = ast.parse


@wraps(_parse)
def _parse_uncollected(*args: Any, **kwargs: Any) -> Any:
    if not gc.isenabled():
        return _parse(*args, **kwargs)
    gc.disable()
    try:
        return _parse(*args, **kwargs)
    finally:
        gc.enable()


ast.parse = _parse_uncollected
