"""Say how a command ended: exit statuses that a pipeline decides by."""

DONE = 0
"""It is done; of `diff`: nothing differs."""
NO = 1
"""The answer is no: `diff` finds a difference, a plan was rejected, a computation failed."""
UNFIT = 2
"""What was given does not fit or is not allowed: arguments, files, what Weir refused."""
NO_ANSWER = 3
"""There is no answer: no connection, a server in trouble, or the time is over."""


class CommandError(Exception):
    """Signal that a command cannot go on; the text says what to do, `status` how it exits."""

    def __init__(self, message: str, status: int = UNFIT) -> None:
        super().__init__(message)
        self.status = status
