"""Take from answers only what is one, and what fits into the row of a change."""

from typing import Any

from apps.integrations.domain.contract import Answer, Failed

LONGEST_ID, LONGEST_NUMBER, LONGEST_LINK = 200, 100, 1_000


def json_of(answer: Answer) -> Any:
    """Return what a success holds. Raises Failed where it is no JSON.

    A page for people with status 200 comes from whoever stands before the server: it does not say
    whether the request was carried out.
    """
    if answer.json is None and answer.text.strip() != "null":
        raise Failed(
            f"The server answers {answer.status} without JSON, as a page for maintenance or for "
            "signing in does. Look at the address, and at what stands before the server.",
            status=answer.status,
        )
    return answer.json


def checked_link(text: str) -> str:
    """Return an address that people may be sent to; empty for anything else."""
    is_one = text.startswith(("https://", "http://")) and text.isprintable()
    return text if is_one and len(text) <= LONGEST_LINK else ""


def checked_id(text: str) -> str:
    """Return an id that can be part of a path; empty for anything else."""
    is_one = text not in (".", "..") and text.isprintable() and len(text) <= LONGEST_ID
    return text if is_one else ""
