"""Define the errors of starting and stopping the stack, each with the next step."""


class StackError(Exception):
    """Signal that the stack cannot do what was asked; the message says why and what to do."""


class PartError(StackError):
    """Signal that one part cannot start."""
