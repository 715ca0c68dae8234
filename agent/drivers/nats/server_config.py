"""The configuration of a NATS server that runs beside an agent, and the secrets both share.

| account | who | why apart |
|---|---|---|
| `SYS` | `system`: the agent's eyes and hand (connections, load, kick) | the server's own |
| `ADMISSION` | `admission`: the agent, which answers the auth callout | requests hold passwords |
| `WEIR` | `agent`, `link` (neighbours' agents), whoever the callout lets in | messages |

Everybody but those four users is asked of the agent (auth callout): consumers as `<class>`,
publishers as `publisher`. See docs/agent.md, and
https://docs.nats.io/running-a-nats-service/configuration/securing_nats/auth_callout.
"""

from __future__ import annotations

import json
import os
import secrets as random
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import nkeys

ACCOUNT = "WEIR"
"""The account messages and streams live in."""
ADMISSION_ACCOUNT = "ADMISSION"
SYSTEM_ACCOUNT = "SYS"

AGENT_USER = "agent"
LINK_USER = "link"
ADMISSION_USER = "admission"
SYSTEM_USER = "system"
PUBLISHER_USER = "publisher"

MAX_PAYLOAD_BYTES = 1024 * 1024
AUTH_TIMEOUT_S = 2.0
"""For how long the server waits for the agent's answer before it turns a client away."""


def _password() -> str:
    return random.token_urlsafe(24)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSecrets:
    """What a broker and its agent know and nobody else, and the two keys a whole system shares."""

    agent_password: str
    """Of the users `agent` and `admission`."""
    system_password: str
    issuer_seed: str
    """Account nkey with which the agent signs whom it lets in; the server knows its public half."""
    client_key: str
    """Password of the system's publishers and consumers; the same at all its brokers."""
    link_key: str
    """Password of the user `link`: the neighbours' agents; the same at all its brokers."""

    @classmethod
    def generate(
        cls, *, client_key: str | None = None, link_key: str | None = None
    ) -> BrokerSecrets:
        """New secrets; give the two keys that the other brokers of the system already have."""
        seed = nkeys.encode_seed(random.token_bytes(32), nkeys.PREFIX_BYTE_ACCOUNT)
        return cls(
            agent_password=_password(),
            system_password=_password(),
            issuer_seed=seed.decode(),
            client_key=client_key or _password(),
            link_key=link_key or _password(),
        )

    @classmethod
    def load(cls, path: Path) -> BrokerSecrets:
        """From the JSON file that `save` wrote. Raises OSError, ValueError naming the entry."""
        plain = json.loads(path.read_text())
        if not isinstance(plain, dict):
            raise ValueError(f"{path}: must be an object")
        for field in fields(cls):
            if not isinstance(plain.get(field.name), str) or not plain[field.name]:
                raise ValueError(f"{path}: {field.name} is missing")
        return cls(**{field.name: plain[field.name] for field in fields(cls)})

    def save(self, path: Path) -> None:
        """As JSON, readable by its owner only, never half written."""
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(path.name + ".new")
        new.unlink(missing_ok=True)
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(asdict(self), file, indent=1)
        new.replace(path)

    @property
    def issuer(self) -> str:
        """The public half of `issuer_seed`."""
        return public_key(self.issuer_seed)


def public_key(seed: str) -> str:
    """The public nkey of a seed."""
    public: bytes = nkeys.from_seed(bytearray(seed.encode())).public_key
    return public.decode()


def render(
    *,
    name: str,
    host: str,
    port: int,
    monitor_port: int,
    store_dir: Path | str,
    secrets: BrokerSecrets,
    sync_always: bool = True,
) -> str:
    """The complete configuration file; it holds passwords, so keep it readable by its owner only.

    `port` or `monitor_port` -1 lets the server choose (see its `--ports_file_dir`). `sync_always`
    makes JetStream acknowledge only what is on disk: the reliable class asks for it.
    """

    def text(value: object) -> str:
        return json.dumps(str(value))

    sync = "always" if sync_always else '"2m"'
    return f"""\
server_name: {text(name)}
listen: {text(f"{host}:{port}")}
http: {text(f"{host}:{monitor_port}")}
max_payload: {MAX_PAYLOAD_BYTES}
system_account: {SYSTEM_ACCOUNT}

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
        user: {LINK_USER}, password: {text(secrets.link_key)}
        permissions {{
          publish: ["weir.>", "$JS.API.>", "$JS.ACK.>", "$JS.FC.>", "_INBOX.>"]
          subscribe: ["weir.>", "_INBOX.>"]
        }}
      }}
    ]
  }}
}}

authorization {{
  timeout: {AUTH_TIMEOUT_S}
  auth_callout {{
    issuer: {secrets.issuer}
    account: {ADMISSION_ACCOUNT}
    auth_users: [{SYSTEM_USER}, {ADMISSION_USER}, {AGENT_USER}, {LINK_USER}]
  }}
}}
"""
