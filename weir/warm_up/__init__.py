"""Compiles every kernel, so that nobody waits for it later: `python -m weir.warm_up`.

Run when the product is installed; compiled code is kept on disk.
"""
