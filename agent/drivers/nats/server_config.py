"""Render the configuration of a NATS server that runs beside an agent, and keep the secrets both
share.

| account | who | why apart |
|---|---|---|
| `SYS` | `system`: the agent's eyes and hand (connections, load, kick) | the server's own |
| `ADMISSION` | `admission`: the agent, which answers the auth callout | requests hold passwords |
| `WEIR` | `agent`, and by the callout neighbours' agents | messages and streams |
| `CLIENTS` | by the callout publishers, consumers, subscribers | see below |
| `GUESTS` | by the callout clients of no class, where they may come in | they hear nothing |

JetStream answers requests, acknowledgements and publications wherever their sender says, with the
rights of its account: an acknowledgement that names `$JS.API.STREAM.PURGE.X` for its answer purges
X. In `CLIENTS` there is no JetStream. A request from there reaches `WEIR` by an import alone, with
a reply subject of the server's own, and whatever comes back stays in `CLIENTS`, where it is a
message as any other and reaches no import. Consumers of streams, which send wherever their
configuration says, are made by the agent (`consumer_requests`). Whatever is published in `WEIR` can
be heard in `CLIENTS`; each client's rights say what of it.

Everybody but those three users is asked of the agent (auth callout): consumers as `<class>`,
publishers as `publisher`, subscribers of streams as `subscriber`, neighbours' agents by a signature
of their key. See docs/agent.md, and
https://docs.nats.io/running-a-nats-service/configuration/securing_nats/auth_callout.
"""

from __future__ import annotations

import json
import os
import secrets as random
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import nkeys

from agent.drivers.nats.link_access import new_seed, public_key

ACCOUNT = "WEIR"
"""The account of messages and streams."""
CLIENT_ACCOUNT = "CLIENTS"
"""The account of publishers, consumers and subscribers."""
ADMISSION_ACCOUNT = "ADMISSION"
SYSTEM_ACCOUNT = "SYS"
GUEST_ACCOUNT = "GUESTS"
"""The account of unmanaged clients; it has no streams, and its subjects are not Weir's."""

AGENT_USER = "agent"
ADMISSION_USER = "admission"
SYSTEM_USER = "system"
PUBLISHER_USER = "publisher"
SUBSCRIBER_USER = "subscriber"

_NEXT = "$JS.API.CONSUMER.MSG.NEXT.*.*"
REQUESTED = (
    "weir.in.*",
    "weir.where.*",
    "weir.delays.*",
    "weir.heard.*",
    "weir.want",
    "weir.place",
    "weir.carry",
    "weir.course",
    "weir.read.*",
    "$JS.API.INFO",
    "$JS.API.STREAM.NAMES",
    "$JS.API.STREAM.INFO.*",
    "$JS.API.CONSUMER.INFO.*.*",
    "$JS.API.CONSUMER.DELETE.*.*",
    _NEXT,
    "$JS.ACK.>",
    "$JS.FC.>",
)
"""What clients publish or request in the account of messages; each client's rights say what of
it."""
MADE_BY_AGENT = {
    "$JS.API.CONSUMER.CREATE.>": "weir.consumer.create.>",
    "$JS.API.CONSUMER.DURABLE.CREATE.*.*": "weir.consumer.durable.*.*",
}
"""What clients request -> where the agent hears it, with the name of who requests it."""

MAX_PAYLOAD_BYTES = 1024 * 1024
AUTH_TIMEOUT_S = 2.0
"""For how long the server waits for the agent's answer before it turns a client away."""


def _password() -> str:
    return random.token_urlsafe(24)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSecrets:
    """Hold what only a broker and its agent know, and the key of the system's clients."""

    agent_password: str
    """The password of the users `agent` and `admission`."""
    system_password: str
    issuer_seed: str
    """The account nkey with which the agent signs its answers; the server knows its public half."""
    link_seed: str
    """The user nkey that identifies this agent to its neighbours' agents; it never leaves the
    machine."""
    client_key: str
    """The password of the system's publishers and consumers, the same at all its brokers."""

    @classmethod
    def generate(cls, *, client_key: str | None = None) -> BrokerSecrets:
        """Return new secrets; give the client key that the other brokers of the system already
        have."""
        return cls(
            agent_password=_password(),
            system_password=_password(),
            issuer_seed=new_seed(nkeys.PREFIX_BYTE_ACCOUNT),
            link_seed=new_seed(),
            client_key=client_key or _password(),
        )

    @classmethod
    def load(cls, path: Path) -> BrokerSecrets:
        """Read the JSON file that `save` wrote. Raises OSError, ValueError naming the entry.

        A file from before links had keys is completed on the spot: `link_seed` is made and saved,
        and the `link_key` in it, which all agents shared, is forgotten.
        """
        plain = json.loads(path.read_text())
        if not isinstance(plain, dict):
            raise ValueError(f"{path}: must be an object")
        old = "link_key" in plain and "link_seed" not in plain
        if old:
            plain["link_seed"] = new_seed()
        for field in fields(cls):
            if not isinstance(plain.get(field.name), str) or not plain[field.name]:
                raise ValueError(f"{path}: {field.name} is missing")
        secrets = cls(**{field.name: plain[field.name] for field in fields(cls)})
        for name in ("issuer_seed", "link_seed"):
            try:
                public_key(plain[name])
            except ValueError as error:
                raise ValueError(f"{path}: {name}: {error}") from error
        if old:
            try:
                secrets.save(path)
            except OSError as error:
                raise ValueError(
                    f"{path}: link_seed is missing and cannot be added ({error}); run "
                    "`python -m agent.drivers.nats.configure` again where the file may be written"
                ) from error
        return secrets

    def save(self, path: Path) -> None:
        """Write the secrets as JSON, readable by the owner only, never half written."""
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(path.name + ".new")
        new.unlink(missing_ok=True)
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(asdict(self), file, indent=1)
        new.replace(path)

    @property
    def issuer(self) -> str:
        """Return the public half of `issuer_seed`."""
        return public_key(self.issuer_seed)

    @property
    def challenge(self) -> str:
        """Return a user's key that the configuration names so that the server sends nonces, which
        it does once it knows any such key. The agent refuses everybody who uses this one."""
        return public_key(self.issuer_seed, nkeys.PREFIX_BYTE_USER)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTLS:
    """Name the server's certificate (with its chain) and key, as files that the server can read."""

    certificate: Path
    key: Path


def render(
    *,
    name: str,
    host: str,
    port: int,
    monitor_port: int,
    store_dir: Path | str,
    secrets: BrokerSecrets,
    sync_always: bool = True,
    tls: ServerTLS | None = None,
) -> str:
    """Return the complete configuration file; it holds passwords, so keep it readable by its owner
    only.

    `port` or `monitor_port` -1 lets the server choose (see its `--ports_file_dir`). `sync_always`
    makes JetStream acknowledge only what is on disk: the reliable class asks for it. With `tls`
    everybody has to come encrypted, clients, neighbours and the agent itself.
    """

    def text(value: object) -> str:
        return json.dumps(str(value))

    sync = "always" if sync_always else '"2m"'
    encrypted = ""
    if tls is not None:
        encrypted = (
            f"tls {{ cert_file: {text(tls.certificate)}, key_file: {text(tls.key)}, timeout: 5 }}\n"
        )
    exports = [
        f'{{ stream: ">", accounts: [{CLIENT_ACCOUNT}] }}',
        # Nothing answers what is published to best-effort flows, whatever reply subject it names.
        f'{{ service: "weir.in.*", accounts: [{CLIENT_ACCOUNT}], response_threshold: "10s" }}',
        f'{{ service: "weir.>", accounts: [{CLIENT_ACCOUNT}] }}',
        f'{{ service: "$JS.>", accounts: [{CLIENT_ACCOUNT}] }}',
        # One request is answered with many messages.
        f'{{ service: "{_NEXT}", response_type: stream, accounts: [{CLIENT_ACCOUNT}] }}',
    ]
    imports = [
        f'{{ stream: {{ account: {ACCOUNT}, subject: ">" }} }}',
        *(f'{{ service: {{ account: {ACCOUNT}, subject: "{each}" }} }}' for each in REQUESTED),
        *(
            f'{{ service: {{ account: {ACCOUNT}, subject: "{there}" }}, '
            f'to: "{here}", share: true }}'
            for here, there in MADE_BY_AGENT.items()
        ),
    ]
    return f"""\
server_name: {text(name)}
listen: {text(f"{host}:{port}")}
http: {text(f"{host}:{monitor_port}")}
max_payload: {MAX_PAYLOAD_BYTES}
{encrypted}system_account: {SYSTEM_ACCOUNT}

jetstream {{
  store_dir: {text(store_dir)}
  sync_interval: {sync}
}}

accounts {{
  {SYSTEM_ACCOUNT} {{
    users: [{{ user: {SYSTEM_USER}, password: {text(secrets.system_password)} }}]
  }}
  {ADMISSION_ACCOUNT} {{
    users: [{{ user: {ADMISSION_USER}, password: {text(secrets.agent_password)} }}]
  }}
  {ACCOUNT} {{
    jetstream: enabled
    users: [
      {{ user: {AGENT_USER}, password: {text(secrets.agent_password)} }}
      {{
        nkey: {secrets.challenge}
        permissions {{ publish {{ deny: ">" }}, subscribe {{ deny: ">" }} }}
      }}
    ]
    exports: [
{_lines(exports)}
    ]
  }}
  {CLIENT_ACCOUNT} {{
    imports: [
{_lines(imports)}
    ]
  }}
  {GUEST_ACCOUNT} {{
  }}
}}

authorization {{
  timeout: {AUTH_TIMEOUT_S}
  auth_callout {{
    issuer: {secrets.issuer}
    account: {ADMISSION_ACCOUNT}
    auth_users: [{SYSTEM_USER}, {ADMISSION_USER}, {AGENT_USER}]
  }}
}}
"""


def _lines(entries: list[str]) -> str:
    return "\n".join(f"      {entry}" for entry in entries)
