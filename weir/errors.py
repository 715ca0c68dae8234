"""What the kernel raises; every error names the thing and the next move."""


class WeirError(Exception):
    """Any error that the kernel raises on purpose."""


class InvalidProblem(WeirError):
    """Bad data: `path` names the entry and field, `message` says what is wrong."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(path, message)
        self.path = path
        self.message = message

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message

    def below(self, parent: str) -> "InvalidProblem":
        """The same complaint seen from an enclosing entry."""
        return InvalidProblem(join_path(parent, self.path), self.message)


class UnknownMethod(WeirError):
    """No optimizer is registered under the name asked for."""


class IllegalTransition(WeirError):
    """A command that the present state does not allow."""


def join_path(parent: str, child: str) -> str:
    """`a` and `b` give `a.b`; `a` and `[1]` give `a[1]`; either may be empty."""
    if not parent or not child or child.startswith("["):
        return parent + child
    return f"{parent}.{child}"


class NoPlan(WeirError):
    """No plan was found in the time given, and nothing proves that there is none."""
