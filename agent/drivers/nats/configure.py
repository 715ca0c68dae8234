"""Write the configuration files of a NATS server that an agent controls.

    python -m agent.drivers.nats.configure --help

Writes `secrets.json` (for the agent) and `nats.conf` (for the server). Secrets that are there stay,
so that repeating it changes nothing but what was asked to change. All brokers of a system share the
key of its clients: give the same `--client-key-file` to each. Everything else is this broker's own.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from agent.drivers.nats.server_config import BrokerSecrets, ServerTLS, render


def _key(path: Path | None, option: str) -> str | None:
    if path is None:
        return None
    text = path.read_text(encoding="utf-8").strip()
    if not text or not text.isprintable() or " " in text:
        raise ValueError(f"{option}: {path} does not hold one key")
    return text


def configure(
    folder: Path,
    *,
    name: str,
    host: str,
    port: int,
    monitor_port: int,
    store_dir: Path,
    client_key: str | None = None,
    secrets_folder: Path | None = None,
    tls: ServerTLS | None = None,
) -> None:
    """Write both files, keeping secrets that exist. Raises OSError, ValueError."""
    path = (secrets_folder or folder) / "secrets.json"
    if path.exists():
        secrets = BrokerSecrets.load(path)
        secrets = replace(secrets, client_key=client_key or secrets.client_key)
    else:
        secrets = BrokerSecrets.generate(client_key=client_key)
    secrets.save(path)
    text = render(
        name=name,
        host=host,
        port=port,
        monitor_port=monitor_port,
        store_dir=store_dir,
        secrets=secrets,
        tls=tls,
    )
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "nats.conf"
    config.touch(mode=0o600)
    config.chmod(0o600)
    config.write_text(text, encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return 0 when both files are written, 2 when a file or option is wrong."""
    parser = argparse.ArgumentParser(
        prog="agent.drivers.nats.configure", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--name", required=True, help="of the broker, as in Weir's model")
    parser.add_argument("--out", type=Path, required=True, help="folder of the two files")
    parser.add_argument("--store-dir", type=Path, required=True, help="folder of the streams")
    parser.add_argument("--host", default="127.0.0.1", help="to listen on (default 127.0.0.1)")
    parser.add_argument("--port", type=int, default=4222)
    parser.add_argument("--monitor-port", type=int, default=8222)
    parser.add_argument("--client-key-file", type=Path, help="shared by the system's clients")
    parser.add_argument("--secrets-out", type=Path, help="folder of secrets.json (default --out)")
    parser.add_argument("--tls-cert", type=Path, help="the server's certificate chain (PEM)")
    parser.add_argument("--tls-key", type=Path, help="the certificate's private key (PEM)")
    given = parser.parse_args(arguments)
    if (given.tls_cert is None) is not (given.tls_key is None):
        parser.error("--tls-cert and --tls-key belong together: give both or neither")
    try:
        configure(
            given.out,
            name=given.name,
            host=given.host,
            port=given.port,
            monitor_port=given.monitor_port,
            store_dir=given.store_dir,
            client_key=_key(given.client_key_file, "--client-key-file"),
            secrets_folder=given.secrets_out,
            tls=None
            if given.tls_cert is None
            else ServerTLS(certificate=given.tls_cert, key=given.tls_key),
        )
    except (OSError, ValueError) as error:
        print(f"configure: {error}", file=sys.stderr)
        return 2
    print(
        f"wrote {(given.secrets_out or given.out) / 'secrets.json'} and {given.out / 'nats.conf'}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
