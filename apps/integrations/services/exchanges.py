"""Reach the other side of a connection, and keep what was exchanged with it.

What other servers answer is cut to what a column takes here, and nowhere else.
"""

import os
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db import models

from apps.common.outgoing.credentials import check_server, credential
from apps.integrations.connectors import product
from apps.integrations.domain.contract import Connector, Sent, Unreachable
from apps.integrations.models import EXCHANGES_KEPT, READ, Change, Connection, Exchange
from apps.integrations.services.http_session import HttpSession
from weir.errors import InvalidProblem, UnknownMethod
from weir.plugins import from_dict

SAME_WITHIN = timedelta(hours=1)
"""Requests that write nothing and are answered alike become one row, if not longer ago."""


TAKES_TOKEN = "grant_type="
"""How the body of a request for an access token begins."""


def storable(text: str, longest: int | None = None) -> str:
    """Return a text of another server as a column of this length takes it."""
    clean = text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()
    return clean if longest is None else clean[:longest]


def fitting(model: type[models.Model], **columns: Any) -> dict[str, Any]:
    """Return values of these columns, texts cut to their lengths."""
    return {
        name: storable(value, model._meta.get_field(name).max_length)  # type: ignore[union-attr]
        if isinstance(value, str)
        else value
        for name, value in columns.items()
    }


def is_write(sent: Sent | None) -> bool:
    """Return whether a request was one that writes: without a clear answer it may still be carried
    out."""
    return sent is not None and sent.method != READ and not sent.signs_in


def exchange_keep(connection: Connection, change: Change | None, sent: Sent) -> None:
    """Keep an exchange, and of all only the last ones; reads push no writes out.

    An access token is taken for all changes of the connection.
    """
    change = None if sent.signs_in else change
    columns = fitting(
        Exchange,
        method=sent.method,
        address=sent.address,
        status=sent.status,
        request=sent.request,
        response=sent.response,
        failure=sent.failure,
    )
    rows = Exchange.objects.filter(connection=connection)
    if not is_write(sent) and _is_repeated(rows, change, sent, columns):
        return
    Exchange.objects.create(
        connection=connection,
        change=change,
        at=sent.at,
        first_at=sent.at,
        seconds=sent.seconds,
        **columns,
    )
    alike = rows.filter(_kind_of(sent))
    surplus = alike.order_by("-id").values_list("pk", flat=True)[EXCHANGES_KEPT:]
    rows.filter(pk__in=list(surplus)).delete()


def _kind_of(sent: Sent) -> models.Q:
    """Return which exchanges are kept as many of as there is room for, beside this one: those that
    read, those that take access tokens, those that write."""
    takes_token = models.Q(request__startswith=TAKES_TOKEN) & ~models.Q(method=READ)
    if sent.method == READ:
        return models.Q(method=READ)
    return takes_token if sent.signs_in else ~models.Q(method=READ) & ~takes_token


def _is_repeated(
    rows: models.QuerySet[Exchange], change: Change | None, sent: Sent, columns: dict[str, Any]
) -> bool:
    """Count a read that says what the last one of the same address said; False: it says news."""
    same = {"method": columns["method"], "address": columns["address"]}
    last = rows.filter(change=change, **same).first()
    if last is None or sent.at - last.at > SAME_WITHIN:
        return False
    if any(getattr(last, name) != value for name, value in columns.items()):
        return False
    last.at, last.seconds, last.times = sent.at, sent.seconds, last.times + 1
    last.save(update_fields=["at", "seconds", "times"])
    return True


def connector_of(
    connection: Connection,
    *,
    keep: Callable[[Sent], None] | None = None,
    before: Callable[[], None] = lambda: None,
) -> Connector:
    """Return the product at the other side. Raises Unreachable where settings forbid to ask."""
    try:
        kind = product(connection.product)
        values = from_dict(kind.Settings, connection.settings)
        secret = credential(
            connection.credential,
            values.address,
            prefix=settings.WEIR_CREDENTIAL_PREFIX,
            folder=settings.WEIR_CREDENTIALS_DIR,
            environ=os.environ,
        )
        if values.token_address:
            check_server(connection.credential, values.token_address, environ=os.environ)
    except InvalidProblem as error:
        raise Unreachable(error.message, not_sent=True) from None
    except UnknownMethod as error:
        raise Unreachable(f"{error}.", not_sent=True) from None
    session = HttpSession(
        settings=values,
        credential=secret,
        keep=keep or partial(exchange_keep, connection, None),
        before=before,
    )
    return kind.connect(values, session)
