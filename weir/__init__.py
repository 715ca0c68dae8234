"""The mathematical kernel of Weir: models, utilities, optimizers, state tables.

Pure Python with numpy and scipy: no input or output, no clock, no environment.
"""

__version__ = "0.1.0"
