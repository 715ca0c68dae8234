"""What can go wrong while the stack starts or stops, each with the next move."""


class StackError(Exception):
    """The stack cannot do what was asked; the message says why and what to do."""


class PartError(StackError):
    """Signal that one part cannot start."""
